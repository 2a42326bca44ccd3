package mem

import (
	"iter"
	"slices"
	"sort"
)

// pageSize is the number of records at which a page is split.
const pageSize = 256

// index holds records in the order of their keys, on pages. Pages are small, so
// that an insert moves few records, but large enough that there are few pages.
type index struct {
	pages [][]*record // none is empty
}

// locate returns the page and the position of key. If key is missing, they are
// where it must be inserted.
func (x *index) locate(key string) (page, at int, found bool) {
	// Find the last page whose first key is less than or equal to key.
	page = sort.Search(len(x.pages), func(i int) bool { return x.pages[i][0].key > key }) - 1
	if page < 0 {
		return 0, 0, false
	}
	p := x.pages[page]
	at = sort.Search(len(p), func(i int) bool { return p[i].key >= key })
	return page, at, at < len(p) && p[at].key == key
}

// get returns the record of key, or nil.
func (x *index) get(key string) *record {
	page, at, found := x.locate(key)
	if !found {
		return nil
	}
	return x.pages[page][at]
}

// insert adds a record whose key is not in the index.
func (x *index) insert(r *record) {
	if len(x.pages) == 0 {
		x.pages = append(x.pages, []*record{r})
		return
	}
	page, at, _ := x.locate(r.key)
	p := slices.Insert(x.pages[page], at, r)
	if len(p) >= pageSize {
		upper := slices.Clone(p[pageSize/2:])
		x.pages = slices.Insert(x.pages, page+1, upper)
		clear(p[pageSize/2:])
		p = p[:pageSize/2]
	}
	x.pages[page] = p
}

// remove removes the record of key.
func (x *index) remove(key string) {
	page, at, found := x.locate(key)
	if !found {
		return
	}
	p := slices.Delete(x.pages[page], at, at+1)
	if len(p) == 0 {
		x.pages = slices.Delete(x.pages, page, page+1)
		return
	}
	x.pages[page] = p
}

// within yields the records of a span in the order of their keys. The index
// must not change during the iteration.
func (x *index) within(s span) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		if s.one {
			if r := x.get(s.key); r != nil {
				yield(r)
			}
			return
		}
		page, at, _ := x.locate(s.key)
		for ; page < len(x.pages); page, at = page+1, 0 {
			for _, r := range x.pages[page][at:] {
				if !s.below(r.key) || !yield(r) {
					return
				}
			}
		}
	}
}
