package suggest

import (
	"fmt"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"schedule", "timeout", "retry.max", "a"}
	for word, want := range map[string]string{
		"shedule": "schedule", "SCHEDULE": "schedule", "tiemout": "timeout", "retry.mox": "retry.max", "zzz": "", "": "",
		strings.Repeat("schedule", 9): "", "b": "a",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q): got %q, want %q", word, got, want)
		}
	}
}

func ExampleNearest() {
	fmt.Println(Nearest("shedule", []string{"schedule", "shell", "start"}))
	// Output: schedule
}
