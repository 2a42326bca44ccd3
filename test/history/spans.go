package history

import (
	"cmp"
	"slices"
	"time"
)

// span is a time range; a zero to means that it never ends.
type span struct{ from, to time.Time }

func (s span) covers(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to))
}

// spans are sorted time ranges that do not touch.
type spans []span

// merge sorts spans and joins those that touch or are at most gap apart.
func merge(list []span, gap time.Duration) (merged spans) {
	slices.SortFunc(list, func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range list {
		last := len(merged) - 1
		switch {
		case last < 0 || !merged[last].to.IsZero() && s.from.After(merged[last].to.Add(gap)):
			merged = append(merged, s)
		case merged[last].to.IsZero():
		case s.to.IsZero() || s.to.After(merged[last].to):
			merged[last].to = s.to
		}
	}
	return merged
}

// at returns the span that covers an instant, if one does.
func (ss spans) at(at time.Time) (span, bool) {
	i, found := slices.BinarySearchFunc(ss, at, func(s span, at time.Time) int { return s.from.Compare(at) })
	if !found {
		i--
	}
	if i >= 0 && ss[i].covers(at) {
		return ss[i], true
	}
	return span{}, false
}

// touch reports whether one of the spans overlaps [from, to].
func (ss spans) touch(from, to time.Time) bool {
	i, _ := slices.BinarySearchFunc(ss, to, func(s span, to time.Time) int { return cmp.Or(s.from.Compare(to), -1) })
	return i > 0 && (ss[i-1].to.IsZero() || !ss[i-1].to.Before(from))
}
