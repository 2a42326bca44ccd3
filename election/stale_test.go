package election

import "testing"

func TestTheKeysOfAnEarlierProcessAreRemoved(t *testing.T) {
	t.Parallel()
	client := dial(t)
	leader := start(t, client, Config{Name: "a", TTL: longTTL}, false)
	term := leader.nextTerm(t)
	next := start(t, client, Config{Name: "b", TTL: longTTL}, false)
	eventually(t, "b waits", func() bool { return next.Status().State == StateCandidate })
	for name, want := range map[string]int{"c": 0, "a": 1} {
		if n, err := RemoveStale(call(t), client, prefixOf(t), name); err != nil || n != want {
			t.Errorf("%s: got %d, %v, want %d", name, n, err, want)
		}
	}
	if got := next.nextTerm(t); got.Rev <= term.Rev {
		t.Errorf("next term: got %d, want above %d", got.Rev, term.Rev)
	}
}
