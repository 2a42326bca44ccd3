package store

import (
	"math"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A mirror knows what a watch of the past would cost etcd, from the changes that it has heard of.
func TestAMirrorKnowsTheSizeOfThePast(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		if got := NewMirror(s).Past(0); got != math.MaxInt {
			t.Errorf("an empty mirror says %d bytes, want the most", got)
		}
		put(t, c, prefix+"/jobs/UPPER", "before the mirror")
		m := following(t, s)
		catchUp(t, s, m)
		if got := m.Past(0); got > BriefLog {
			t.Errorf("a mirror that has just been filled says %d bytes for %d revisions", got, revision(t, c))
		}
		write := func(value string) int64 {
			rev := put(t, c, prefix+"/jobs/UPPER", value)
			catchUp(t, s, m)
			return rev
		}
		large := strings.Repeat("x", 1<<20)
		first := write(large)
		small := write("x")
		for after, want := range map[int64]int{small: 0, first: minRevision, first - 1: minRevision + len(large)} {
			if got := m.Past(after); got < want || got > want+minRevision {
				t.Errorf("after revision %d of %d: %d bytes, want %d", after, small, got, want)
			}
		}
		for range BriefLog >> 20 {
			write(large)
		}
		if got := m.Past(small); got <= BriefLog {
			t.Errorf("%d bytes, want more than a live store can read", got)
		}
		if got := m.Past(revision(t, c) - 3); got > BriefLog {
			t.Errorf("the last three revisions have %d bytes", got)
		}
	})
}

// The size of revisions that a mirror has not heard of is unknown.
func TestUnknownRevisionsCountAsLarge(t *testing.T) {
	var p past
	p.begin(10_000)
	if got := p.after(10_000 - maxSpan - 1); got != math.MaxInt {
		t.Errorf("%d bytes for more revisions than one step of a log has", got)
	}
	if got := p.after(10_000 - maxSpan); got > BriefLog {
		t.Errorf("%d bytes for as many revisions as one step of a log has", got)
	}
	p.add(10_001, nil)
	if got := p.after(10_000 - maxSpan); got != math.MaxInt {
		t.Errorf("%d bytes for one more revision", got)
	}
	if got := p.after(10_000 - maxSpan/2); got > BriefLog/2+minRevision {
		t.Errorf("%d bytes for half of them", got)
	}
	p.add(1_000_000, nil) // others have written much
	if got := p.after(10_001); got != math.MaxInt {
		t.Errorf("%d bytes for a million revisions", got)
	}
	if got := p.after(1_000_000); got != 0 {
		t.Errorf("%d bytes for nothing", got)
	}
}
