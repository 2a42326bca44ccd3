package main

import (
	"io"
	"strings"
	"testing"
)

func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "yes": true, "": false, "\n": false, "n\n": false, "yep\n": false} {
		c := &cli{in: strings.NewReader(answer), err: io.Discard}
		if got := c.confirm("remove 1 job?"); got != want {
			t.Errorf("answer %q: got %v, want %v", answer, got, want)
		}
	}
}
