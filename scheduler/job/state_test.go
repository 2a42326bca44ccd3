package job_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTransitionsMatchTheDiagram reads the list in the package's documentation, and tries every pair of states.
func TestTransitionsMatchTheDiagram(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[job.State][]string)
	for _, m := range regexp.MustCompile(`(?m)^//\t(\S+)\s+→ (.+)$`).FindAllStringSubmatch(string(doc), -1) {
		want[job.State(strings.Replace(m[1], "(none)", "", 1))] = strings.Fields(m[2])
	}
	if len(want) != 4 {
		t.Fatalf("the documentation lists the arrows of %d states, want 4", len(want))
	}
	for _, from := range append([]job.State{""}, job.States()...) {
		for _, to := range append([]job.State{"", "nonsense"}, job.States()...) {
			if got, want := from.CanBecome(to), slices.Contains(want[from], string(to)); got != want {
				t.Errorf("%q may become %q: got %v, documented is %v", from, to, got, want)
			}
		}
		if from.Terminal() && len(want[from]) > 0 {
			t.Errorf("%q is terminal, but may become %v", from, want[from])
		}
	}
}

func TestStatesAreValid(t *testing.T) {
	for _, s := range job.States() {
		if !s.Valid() {
			t.Errorf("%q is not valid", s)
		}
	}
	for _, s := range []job.State{"", "nonsense", "Pending"} {
		if s.Valid() || s.Terminal() {
			t.Errorf("%q is valid", s)
		}
	}
}
