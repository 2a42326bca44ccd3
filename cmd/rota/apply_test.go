package main

import (
	"io"
	"strings"
	"testing"
)

func TestConfirmAcceptsOnlyYes(t *testing.T) {
	for answer, want := range map[string]bool{"y": true, "YES": true, "yes": true, "": false, "n": false, "yep": false} {
		c := &cli{in: strings.NewReader(answer + "\n"), err: io.Discard}
		if got := c.confirm("remove 1 job?"); got != want {
			t.Errorf("answer %q: got %v, want %v", answer, got, want)
		}
	}
}
