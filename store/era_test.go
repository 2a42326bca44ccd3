package store

import (
	"errors"
	"strings"
	"testing"
)

func TestASightFollowsAnother(t *testing.T) {
	before := Sight{Cluster: "a", Era: 1, Revision: 100}
	for _, tc := range []struct {
		name string
		now  Sight
		want string // "": it follows
	}{
		{"it has come further", Sight{"a", 1, 101}, ""},
		{"nothing has happened", before, ""},
		{"it went back", Sight{"a", 1, 99}, "put back to revision 99"},
		{"it is another one", Sight{"b", 1, 200}, "is etcd cluster b"},
		{"it is empty", Sight{"a", 0, 1}, "from before"},
		{"it is from before the last acceptance", Sight{"a", 0, 500}, "from before"},
		{"nobody can read its era", Sight{"a", -1, 500}, "nobody can read"},
		{"it was accepted", Sight{"b", 2, 7}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.now.After(before)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			var restored *RestoredError
			if err != nil && !errors.As(err, &restored) {
				t.Errorf("got a %T", err)
			}
		})
	}
	if err := (Sight{"x", 0, 1}).After(Sight{}); err != nil {
		t.Errorf("who knows nothing: %v", err)
	}
	if err := (Sight{"a", -1, 2}).After(Sight{"a", 0, 1}); err != nil {
		t.Errorf("garbage where nothing was ever accepted: %v", err)
	}
}

func TestAStoreIsAccepted(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	first, err := s.Sight(ctx)
	if err != nil || first.Era != 0 || first.Cluster == "" || first.Revision == 0 {
		t.Fatalf("got %+v, %v", first, err)
	}
	known := Sight{Cluster: "gone", Era: 4, Revision: 1000}
	seen, err := s.Accept(ctx, known, epoch, "tester")
	if err != nil || seen.Era != 5 || seen.After(known) != nil {
		t.Fatalf("got %+v, %v; want the era after the known one", seen, err)
	}
	if s.Reached() < seen.Revision {
		t.Errorf("reached %d, which is less than %d", s.Reached(), seen.Revision)
	}
	put(t, c, s.keys.era(), `{"era":"five"}`)
	if bad, err := s.Sight(ctx); err != nil || bad.Era != -1 {
		t.Errorf("garbage: got %+v, %v", bad, err)
	}
	if seen, err := s.Accept(ctx, seen, epoch, "tester"); err != nil || seen.Era != 6 {
		t.Errorf("over garbage: got %+v, %v", seen, err)
	}
}
