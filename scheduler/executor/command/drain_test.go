package command

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestOutputThatWasNotReadInTime copies output after drain has stopped the copying, as on a machine that is too busy to copy
// before. Another process holds the pipe open.
func TestOutputThatWasNotReadInTime(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("done\n"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	copyOutput(&out, r, r)
	if out.String() != "done\n" {
		t.Errorf("output %q", out.String())
	}
}
