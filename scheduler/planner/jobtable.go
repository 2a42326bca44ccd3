package planner

import "hash/maphash"

// jobTable holds the states of all jobs by name. It is a hash table with linear probing. For a million jobs it takes 17 MB, where a
// map would take 52 MB, because the names are in the states.
type jobTable struct {
	seed  maphash.Seed
	slots []*jobState // nil: free. Their number is a power of two, and at least a quarter is free
	count int
}

func newJobTable() jobTable { return jobTable{seed: maphash.MakeSeed(), slots: make([]*jobState, 8)} }

// next returns the slot after slot i.
func (t *jobTable) next(i int) int { return (i + 1) & (len(t.slots) - 1) }

// home returns the slot where the search for a name begins.
func (t *jobTable) home(name string) int {
	return int(maphash.String(t.seed, name)) & (len(t.slots) - 1)
}

// find returns the slot of a job. If the job is missing, that is the free slot where it belongs.
func (t *jobTable) find(name string) int {
	i := t.home(name)
	for t.slots[i] != nil && t.slots[i].name != name {
		i = t.next(i)
	}
	return i
}

// get returns the state of a job; nil if there is none.
func (t *jobTable) get(name string) *jobState { return t.slots[t.find(name)] }

// add adds a job that is missing.
func (t *jobTable) add(j *jobState) {
	t.makeRoom(t.count + 1)
	t.slots[t.find(j.name)] = j
	t.count++
}

// makeRoom makes room for n jobs.
func (t *jobTable) makeRoom(n int) {
	size := len(t.slots)
	for size-size/4 < n {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]*jobState, size)
	for _, j := range old {
		if j != nil {
			t.slots[t.find(j.name)] = j
		}
	}
}

// remove removes a job, if it is there. Jobs after it move closer to their homes, because a search ends at the free slot.
func (t *jobTable) remove(name string) {
	free := t.find(name)
	if t.slots[free] == nil {
		return
	}
	for i := t.next(free); t.slots[i] != nil; i = t.next(i) {
		way := i - t.home(t.slots[i].name) // how far the job is from its home
		if mask := len(t.slots) - 1; way&mask >= (i-free)&mask {
			t.slots[free], free = t.slots[i], i
		}
	}
	t.slots[free] = nil
	t.count--
}

// all yields all jobs, in no order. yield must not add or remove jobs.
func (t *jobTable) all(yield func(*jobState) bool) {
	for _, j := range t.slots {
		if j != nil && !yield(j) {
			return
		}
	}
}
