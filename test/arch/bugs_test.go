package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryBugHasItsTest reads pages with commands: each command must name tests that exist in its packages.
func TestEveryBugHasItsTest(t *testing.T) {
	for page, least := range map[string]int{
		"test/tables/bugs.md": 150, "test/tables/operator.md": 17, "docs/explanation/failures.md": 50,
	} {
		t.Run(page, func(t *testing.T) { commandsNameTests(t, page, least) })
	}
}

// commandsNameTests checks the commands of a page.
func commandsNameTests(t *testing.T, page string, least int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	tests := declaredTests(t)
	commands := regexp.MustCompile("`(?:ROTA_[A-Z_]+=1 )*go test ([^`]*?) -run\\s+'?([^`' ]+)'?(?: -v)?`").FindAllStringSubmatch(string(text), -1)
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
				found = found || pattern.MatchString(test) && slices.ContainsFunc(places, func(d declared) bool { return names(dirs, d.dir) })
			}
			if !found {
				t.Errorf("%s: no test in %s matches %s", page, c[1], name)
			}
		}
	}
}

// names reports whether the arguments of a command name the package in dir.
func names(args []string, dir string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		above, all := strings.CutSuffix(arg, "/...")
		return arg == dir || all && strings.HasPrefix(dir, above+"/")
	})
}
