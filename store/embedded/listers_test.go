package embedded

import (
	"slices"
	"testing"
)

// A member is removed only if no other process lists it. A list with a mistake may have meant to list it.
func TestAListWithAMistakeKeepsEveryMember(t *testing.T) {
	t.Parallel()
	lists := map[string]string{
		"q1": "q1=http://q1:2380,q3=" + self, "q2": "q1=http://q1:2380", "q3": "q3=" + self, "q4": "q1=http://q1:2380,q2",
	}
	s := &Server{cfg: Config{OthersList: func() map[string]string { return lists }}}
	by, known := s.listers(member(3, "q3", self, true))
	if want := []string{"q1", "q4"}; !known || !slices.Equal(by, want) {
		t.Errorf("got %v, known %t; want %v", by, known, want)
	}
	lists = nil
	if by, known := s.listers(member(3, "q3", self, true)); known || len(by) > 0 {
		t.Errorf("before the others are known: got %v, known %t", by, known)
	}
	s.cfg.OthersList = nil
	if by, known := s.listers(member(3, "q3", self, true)); !known || len(by) > 0 {
		t.Errorf("without other processes: got %v, known %t", by, known)
	}
}
