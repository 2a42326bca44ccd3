package store

import (
	"errors"
	"strings"
	"testing"
)

func TestObservationAfterAnother(t *testing.T) {
	before := Observation{Cluster: "a", Era: 1, Revision: 100, Job: "j", Cursor: 90}
	for _, tc := range []struct {
		name string
		now  Observation
		want string // part of the error; "": it is a later state
	}{
		{"it has come further", Observation{Cluster: "a", Era: 1, Revision: 101}, ""},
		{"nothing has happened", before, ""},
		{"it went back", Observation{Cluster: "a", Era: 1, Revision: 99}, "restored: it is at revision 99"},
		{"it is another one", Observation{Cluster: "b", Era: 1, Revision: 200}, "etcd cluster b at revision 200"},
		{"it is empty", Observation{Cluster: "a", Era: 0, Revision: 1}, "is in era 0, and was in era 1"},
		{"it is from before the last acceptance", Observation{Cluster: "a", Era: 0, Revision: 500}, "is in era 0, and was in era 1"},
		{"its era is unreadable", Observation{Cluster: "a", Era: -1, Revision: 500}, "is unreadable"},
		{"it was accepted", Observation{Cluster: "b", Era: 2, Revision: 7}, ""},
		{"the cursor moved", Observation{Cluster: "a", Era: 1, Revision: 101, Job: "j", Cursor: 101}, ""},
		{"the cursor is gone with its job", Observation{Cluster: "a", Era: 1, Revision: 101, Job: "j"}, ""},
		{"the cursor of another job is older", Observation{Cluster: "a", Era: 1, Revision: 101, Job: "k", Cursor: 3}, ""},
		{"it went back and came further", Observation{Cluster: "a", Era: 1, Revision: 101, Job: "j", Cursor: 89}, "below 100, and has reached revision 101"},
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
	held := before
	held.Restored = true
	if err := (Observation{Cluster: "a", Era: 1, Revision: 500}).After(held); err == nil || !strings.Contains(err.Error(), "reached revision 500") {
		t.Errorf("it was put back, and has come further since: got %v", err)
	}
	if err := (Observation{Cluster: "a", Era: 2, Revision: 500}).After(held); err != nil {
		t.Errorf("it was put back and accepted: got %v", err)
	}
	if err := (Observation{Cluster: "x", Era: 0, Revision: 1}).After(Observation{}); err != nil {
		t.Errorf("without an earlier observation: %v", err)
	}
	for _, known := range []Observation{{}, before} {
		err := (Observation{Cluster: "b", Era: 2, Revision: 500, Origin: "a"}).After(known)
		if err == nil || !strings.Contains(err.Error(), "the data of etcd cluster a was restored into etcd cluster b") {
			t.Errorf("the data of another cluster after %+v: got %v", known, err)
		}
		if err := (Observation{Cluster: "b", Era: 2, Revision: 500, Origin: "b"}).After(known); err != nil {
			t.Errorf("the data of the same cluster after %+v: %v", known, err)
		}
	}
	if err := (Observation{Cluster: "b", Revision: 500, Origin: "a"}).After(Observation{}); err == nil {
		t.Error("a process without memory uses the data of another cluster that nobody ever accepted")
	}
	if err := (Observation{Cluster: "a", Era: -1, Revision: 2}).After(Observation{Cluster: "a", Era: 0, Revision: 1}); err != nil {
		t.Errorf("garbage where nothing was ever accepted: %v", err)
	}
}

// A proven restore is remembered, because later revisions hide it. Unreadable records and other clusters are not
// remembered, because an operator can correct them.
func TestRestoredStoreIsRemembered(t *testing.T) {
	before := Observation{Cluster: "a", Era: 1, Revision: 100, Job: "j", Cursor: 90}
	for name, tc := range map[string]struct {
		now  Observation
		held bool
	}{
		"it went back":                           {Observation{Cluster: "a", Era: 1, Revision: 99}, true},
		"it went back, its era is unreadable":    {Observation{Cluster: "a", Era: -1, Revision: 99}, true},
		"it is from before the last acceptance":  {Observation{Cluster: "a", Revision: 500}, true},
		"its cursor went back":                   {Observation{Cluster: "a", Era: 1, Revision: 500, Job: "j", Cursor: 80}, true},
		"its era is unreadable":                  {Observation{Cluster: "a", Era: -1, Revision: 500}, false},
		"it is another one, which will not pass": {Observation{Cluster: "b", Revision: 99}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var restored *RestoredError
			if !errors.As(tc.now.After(before), &restored) {
				t.Fatal("it is taken for the same")
			}
			want := before
			want.Restored = tc.held
			if got := restored.Remember(); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestObservationOfACursor(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	term := reign(t, c, "a")
	commit(t, s, term, fire(slot("j", 1), 0))
	newest := commit(t, s, term, fire(slot("k", 1), 0))[0].Rev
	put(t, c, "/others", "x")
	m := following(t, s)
	catchUp(t, s, m)
	if name, rev := m.NewestCursor(); name != "k" || rev != newest {
		t.Errorf("the newest cursor: got that of %q at %d, want k's at %d", name, rev, newest)
	}
	if seen, err := s.Observe(t.Context(), "k"); err != nil || seen.Job != "k" || seen.Cursor != newest || seen.Revision <= newest {
		t.Errorf("got %+v, %v; want the cursor at %d", seen, err, newest)
	}
	if seen, err := s.Observe(t.Context(), "nobody"); err != nil || seen.Cursor != 0 {
		t.Errorf("got %+v, %v; want no cursor", seen, err)
	}
}

func TestAStoreIsAccepted(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	first, err := s.Observe(ctx, "")
	if err != nil || first.Era != 0 || first.Cluster == "" || first.Revision == 0 {
		t.Fatalf("got %+v, %v", first, err)
	}
	for range 2 {
		if err := s.Settle(ctx, 0, epoch); err != nil {
			t.Fatal(err)
		}
		seen, err := s.Observe(ctx, "")
		if err != nil || seen.Origin != first.Cluster || seen.Era != 0 || seen.Revision != first.Revision+1 {
			t.Fatalf("with the cluster in the record: got %+v, %v", seen, err)
		}
	}
	known := Observation{Cluster: "gone", Era: 4, Revision: 1000}
	seen, err := s.Accept(ctx, known, epoch, "tester")
	if err != nil || seen.Era != 5 || seen.After(known) != nil {
		t.Fatalf("got %+v, %v; want the era after the known one", seen, err)
	}
	if s.Reached() < seen.Revision {
		t.Errorf("reached %d, which is less than %d", s.Reached(), seen.Revision)
	}
	s.count.reached.raise(1, 1_000_000)
	if s.Reached() >= 1_000_000 {
		t.Error("what another cluster answers counts")
	}
	s.ResetReached(Observation{Cluster: "1", Revision: 7})
	if s.Reached() != 7 {
		t.Errorf("reached %d, want that of the store that was accepted", s.Reached())
	}
	put(t, c, s.keys.record(KindEra, ""), `{"era":"five"}`)
	if bad, err := s.Observe(ctx, ""); err != nil || bad.Era != -1 {
		t.Errorf("garbage: got %+v, %v", bad, err)
	}
	if err := s.Settle(ctx, 6, epoch); err != nil {
		t.Error(err)
	}
	if bad, err := s.Observe(ctx, ""); err != nil || bad.Era != -1 {
		t.Errorf("garbage was replaced without an acceptance: got %+v, %v", bad, err)
	}
	if seen, err := s.Accept(ctx, seen, epoch, "tester"); err != nil || seen.Era != 6 {
		t.Errorf("over garbage: got %+v, %v", seen, err)
	}
}

// Somebody removes the record of the era while the processes work. It comes back with their era. Otherwise each of them would wait
// for an operator after its next start.
func TestARemovedEraComesBack(t *testing.T) {
	c := fake(t, nil).Client()
	s, ctx := open(t, c), t.Context()
	accepted, err := s.Accept(ctx, Observation{Cluster: "gone", Era: 1, Revision: 1000}, epoch, "tester")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(ctx, s.keys.record(KindEra, "")); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(ctx, accepted.Era, epoch); err != nil {
		t.Fatal(err)
	}
	seen, err := s.Observe(ctx, "")
	if err != nil || seen.Era != accepted.Era || seen.After(accepted) != nil {
		t.Errorf("got %+v, %v; want era %d", seen, err, accepted.Era)
	}
}
