package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// noWords are exported types of scheduler/job that are details of records or of file formats, not words of the domain.
var noWords = []string{
	"Applied", "BackfillOrder", "BackfillState", "Bad", "CPUs", "CalendarDays", "Change", "Container", "DST", "Duration", "FieldChange", "Files", "HTTP", "Hooks", "Kubernetes", "LimitSpec", "Notify", "ParamError", "ParamType", "PastPause", "PingService", "PingState", "Pull", "Range", "RecordKind", "RetryJitter", "RetryOn", "RunKind",
	"Size", "SlotFinder", "SlotRange", "TraceIDs", "TransitionError", "Undelivered",
}

// TestTheGlossaryHasTheTypesOfTheDomain compares the quoted words of the glossary with exported types.
func TestTheGlossaryHasTheTypesOfTheDomain(t *testing.T) {
	const typeName = `(?m)^type ([A-Z]\w+)[ \[]`
	types := matches(t, typeName, "scheduler/job", "scheduler/executor", "scheduler/worker", "election", "store")
	words := glossary(t)
	for _, word := range words {
		if !slices.Contains(types, word) {
			t.Errorf("glossary.md has `%s`, but no exported type has that name", word)
		}
	}
	for _, name := range matches(t, typeName, "scheduler/job") {
		if !slices.Contains(words, name) && !slices.Contains(noWords, name) {
			t.Errorf("glossary.md does not have job.%s; if it is no word of the domain, add it to noWords", name)
		}
	}
}

// glossary returns the quoted words of the glossary, each of which begins a row.
func glossary(t *testing.T) (words []string) {
	t.Helper()
	row := regexp.MustCompile("^\\| `([^`]+)` \\|")
	for line := range strings.Lines(read(t, "glossary.md")) {
		if m := row.FindStringSubmatch(line); m != nil {
			words = append(words, m[1])
		}
	}
	return words
}
