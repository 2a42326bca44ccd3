package store

import (
	"fmt"
	"testing"
)

func TestGatesOfJobsAreForgotten(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	catchUp(t, s, m)
	in := NewIntake(s, m, 100_000)
	for i := range 200 {
		if _, err := in.Submit(within(t), submission(fmt.Sprint("job-", i), "a"), 1000); err != nil {
			t.Fatal(err)
		}
	}
	catchUp(t, s, m)
	if _, err := in.Submit(within(t), submission("last", "a"), 1000); err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if n := len(in.gates); n > 2 {
		t.Errorf("%d gates are left, want those of the last submission at most", n)
	}
}
