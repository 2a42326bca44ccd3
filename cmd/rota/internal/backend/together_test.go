package backend

import (
	"slices"
	"testing"
)

func TestReplicasWithTheSameMistakeShareASentence(t *testing.T) {
	got := together([]string{"q1: a.yaml:3: unknown key", "q2: other files", "q3: a.yaml:3: unknown key"})
	if want := []string{"q1, q3: a.yaml:3: unknown key", "q2: other files"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
