package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryBugHasItsTest reads test/tables/bugs.md and operator.md: each command must name tests that exist in its packages.
func TestEveryBugHasItsTest(t *testing.T) {
	for page, least := range map[string]int{"bugs.md": 150, "operator.md": 17} {
		t.Run(page, func(t *testing.T) { commandsNameTests(t, page, least) })
	}
}

// commandsNameTests checks the commands of a page in test/tables.
func commandsNameTests(t *testing.T, page string, least int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "test/tables", page))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	commands := regexp.MustCompile("`(?:ROTA_FAULTS=1 )?go test ([^`]*?) -run '?([^`' ]+)'?`").FindAllStringSubmatch(string(text), -1)
	if len(commands) < least {
		t.Errorf("%s has %d commands, want at least %d", page, len(commands), least)
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
				t.Errorf("%s: no test in %s matches %s", page, c[1], name)
			}
		}
	}
}
