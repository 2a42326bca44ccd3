package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryBugHasItsTest reads test/tables/bugs.md: each command must name tests that exist in its packages.
func TestEveryBugHasItsTest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "test/tables/bugs.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	commands := regexp.MustCompile("`(?:ROTA_FAULTS=1 )?go test ([^`]*?) -run '?([^`' ]+)'?`").FindAllStringSubmatch(string(text), -1)
	if len(commands) < 150 {
		t.Errorf("bugs.md has %d commands, want at least 150", len(commands))
	}
	for _, c := range commands {
		dirs := strings.Fields(strings.ReplaceAll(c[1], "./", ""))
		for name := range strings.SplitSeq(strings.ReplaceAll(c[2], `\|`, "|"), "|") {
			name, _, _ = strings.Cut(name, "/") // a subtest has no declaration
			pattern := regexp.MustCompile(name)
			found := false
			for test, places := range tests {
				found = found || pattern.MatchString(test) && slices.ContainsFunc(places, func(d declared) bool { return slices.Contains(dirs, d.dir) })
			}
			if !found {
				t.Errorf("bugs.md: no test in %s matches %s", c[1], name)
			}
		}
	}
}
