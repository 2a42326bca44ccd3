package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOutputIsFilteredOnATerminalAlone(t *testing.T) {
	pipe, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	screen := terminal(t)
	for _, tt := range []struct {
		out  *os.File
		raw  bool
		safe bool
	}{{screen, false, true}, {screen, true, false}, {pipe, false, false}} {
		c := &cli{out: tt.out, rawOutput: tt.raw}
		if _, safe := c.jobOutput().(*safeWriter); safe != tt.safe {
			t.Errorf("%s, raw %v: filtered %v, want %v", tt.out.Name(), tt.raw, safe, tt.safe)
		}
	}
}
