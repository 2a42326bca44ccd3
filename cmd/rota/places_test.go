package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestEachCommandHasAPlaceOnThePage reads the tables that say where the page has each command, or why it does not have it.
func TestEachCommandHasAPlaceOnThePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/use-the-page.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, ok := strings.Cut(string(text), "\n## Find the place of a command\n")
	if !ok {
		t.Fatal("the page of documentation has no tables of commands")
	}
	tables, _, _ = strings.Cut(tables, "\n## ")
	root := newRoot(&cli{in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now})
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() && cmd.Name() != "help" && cmd.Name() != "completion" && !strings.Contains(tables, "`rota "+cmd.Name()+"`") {
			t.Errorf("rota %s has no place in the tables of docs/how-to/use-the-page.md", cmd.Name())
		}
	}
}
