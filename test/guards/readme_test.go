package guards

import (
	"os"
	"strings"
	"testing"
)

// TestTheReadmeNamesEachGuard checks that the table in test/tables/guards.md has each guard and its test.
func TestTheReadmeNamesEachGuard(t *testing.T) {
	readme, err := os.ReadFile(root + "/test/tables/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Guards {
		row := ""
		for line := range strings.Lines(string(readme)) {
			if strings.HasPrefix(line, "| "+g.Name+" |") {
				row = line
			}
		}
		if want := "`" + strings.TrimPrefix(g.Pkg, "./") + "`: `" + g.Test + "`"; !strings.Contains(row, want) {
			t.Errorf("test/tables/guards.md has no row for %s that names %s: %q", g.Name, want, row)
		}
	}
}
