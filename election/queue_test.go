package election

import (
	"testing"
)

func TestLeaderNamesTheFirstInTheQueue(t *testing.T) {
	t.Parallel()
	client := dial(t)
	if _, ok, err := Leader(t.Context(), client, prefixOf(t)); ok || err != nil {
		t.Errorf("Leader of an empty election: got %v, %v, want no leader", ok, err)
	}
	foreign := contender(t, client)
	a := start(t, client, quick("a"), false)
	eventually(t, "a waits", func() bool { return a.Status().State == StateCandidate })
	got, ok, err := Leader(t.Context(), client, prefixOf(t))
	if !ok || err != nil {
		t.Fatalf("Leader: got %v, %v", ok, err)
	}
	if want := (Term{Key: foreign.Key(), Rev: foreign.Rev()}); got.Term != want || string(got.Value) != "contender" || got.Candidate != (Candidate{}) {
		t.Errorf("Leader: got %+v, want the foreign candidate %v with its raw value", got, want)
	}
	if err := foreign.Resign(call(t)); err != nil {
		t.Fatalf("resign: %v", err)
	}
	term := a.nextTerm(t)
	got, ok, err = Leader(t.Context(), client, prefixOf(t))
	if !ok || err != nil {
		t.Fatalf("Leader: got %v, %v", ok, err)
	}
	if got.Term.Rev != term.Rev || got.Term.Key != term.Key || got.Candidate.Node != "a" || got.Candidate.Addr != "a:8470" || got.Candidate.Since.IsZero() {
		t.Errorf("Leader: got %+v, want a, confirmed, with term %v", got, term.Term)
	}
}
