package main

import (
	"strings"
	"testing"
)

func TestReasonsAreWholeInAPipe(t *testing.T) {
	reason := strings.Repeat("a long reason ", 10)
	for _, tc := range []struct {
		full, wide bool
		whole      bool
	}{{}, {full: true, whole: true}, {wide: true, whole: true}} {
		p := &page{full: tc.full, wide: tc.wide}
		if got := p.shortened(reason); (got == reason) != tc.whole {
			t.Errorf("full %v, wide %v: got %q, want all of it: %v", tc.full, tc.wide, got, tc.whole)
		}
	}
}
