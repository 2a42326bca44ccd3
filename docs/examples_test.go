package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

// block finds the YAML blocks of a page: job files, and settings or an auth.file where the fence says so.
// Hosts may follow: see test/runbooks.
var block = regexp.MustCompile("(?ms)^```yaml( settings| auth)?(?: q[1-5])*\n(.*?)^```")

// TestExamplesInTheDocsLoad reads every job file and every settings file that a page shows.
func TestExamplesInTheDocsLoad(t *testing.T) {
	for _, page := range pages(t) {
		for i, m := range block.FindAllStringSubmatch(read(t, page), -1) {
			file := filepath.Join(t.TempDir(), "example.yaml")
			if err := os.WriteFile(file, []byte(m[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			switch m[1] {
			case "":
				_, err = config.ParseJobs(page, []byte(m[2]))
			case " auth":
				_, err = config.ParseAuth(page, []byte(m[2]))
			default:
				_, err = config.LoadSettings(file, nil, []string{"HOME=/", "ROTA_NODE_NAME=q1"})
			}
			if err != nil {
				t.Errorf("%s, YAML block %d: %v", page, i+1, err)
			}
		}
	}
}

// TestEveryFailureIsDescribed looks for each scenario, and for the tests that the pages name.
func TestEveryFailureIsDescribed(t *testing.T) {
	for _, file := range []string{"explanation/failures.md", "../test/tables/scenarios.md"} {
		text := read(t, file)
		for family, last := range map[string]int{"A": 3, "B": 2, "C": 10, "D": 14} {
			for n := 1; n <= last; n++ {
				if !regexp.MustCompile(fmt.Sprintf(`\b%s%d\b`, family, n)).MatchString(text) {
					t.Errorf("%s does not describe %s%d", file, family, n)
				}
			}
		}
		for _, m := range regexp.MustCompile("go test \\./(test/\\w+)[^`\n]* -run '?([\\w|]+)").FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(m[2], "|") {
				if !hasTest(t, "../"+m[1], name) {
					t.Errorf("%s: no test in %s begins with %s", file, m[1], name)
				}
			}
		}
	}
}

// hasTest reports whether a folder has a test whose name begins with name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "\nfunc "+name) })
}
