package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// name finds what stands between backquotes.
var name = regexp.MustCompile("`([^`]+)`")

// firstCells returns the names in the first cells of the rows of a table that follows a heading, or the text given, up
// to the next heading.
func firstCells(t *testing.T, file, after string) []string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, file), after)
	if !ok {
		t.Fatalf("%s does not have %q", file, after)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// same reports what is in one list only.
func same(t *testing.T, where string, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: nothing to compare with", where)
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s lacks %s", where, w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s has %s, which there is not", where, g)
		}
	}
}

// keys are the names that a type's fields have in JSON.
func keys(of reflect.Type) (names []string) {
	for i := range of.NumField() {
		tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if tag != "" && tag != "-" {
			names = append(names, tag)
		}
	}
	return names
}

func TestEverySettingIsDescribed(t *testing.T) {
	set, err := config.LoadSettings("", nil, []string{"HOME=/", "ROTA_NODE_NAME=x"})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for key := range set.Origins() {
		want = append(want, key)
	}
	same(t, "the table of settings", firstCells(t, "reference/operations.md", "## Settings"), want)
}

func TestEveryMetricIsDescribed(t *testing.T) {
	files, err := filepath.Glob("../cmd/rota/node/*.go")
	if err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`"(rota_[a-z_]+)"`)
	var want []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range metric.FindAllStringSubmatch(read(t, file), -1) {
			want = append(want, m[1])
		}
	}
	same(t, "the table of metrics", firstCells(t, "reference/operations.md", "## Metrics"), want)
}

func TestEveryCheckOfReadinessIsDescribed(t *testing.T) {
	check := regexp.MustCompile(`Name: "(\w+)", Probe`)
	var want []string
	for _, file := range []string{"../cmd/rota/node/backend.go", "../scheduler/api/health.go"} {
		for _, m := range check.FindAllStringSubmatch(read(t, file), -1) {
			if !slices.Contains(want, m[1]) {
				want = append(want, m[1])
			}
		}
	}
	same(t, "the table of checks", firstCells(t, "reference/operations.md", "\n| check | of |"), want)
}

func TestEveryKeyOfTheStoreIsDescribed(t *testing.T) {
	var got []string
	for _, key := range firstCells(t, "reference/operations.md", "## The store") {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, "/rota/"), "/")
		got = append(got, kind)
	}
	// Kinds that store takes from job are constants there.
	kind := regexp.MustCompile(`(?m)^\s*(?:Kind|Record)\w+\s+(?:Kind|RecordKind)\s*=\s*"(\w+)"`)
	var want []string
	for _, file := range []string{"../store/keys.go", "../scheduler/job/change.go"} {
		for _, m := range kind.FindAllStringSubmatch(read(t, file), -1) {
			want = append(want, m[1])
		}
	}
	same(t, "the table of keys", got, want)
}

func TestEveryKeyOfAJobIsDescribed(t *testing.T) {
	var got []string
	for _, heading := range []string{"## When", "## Under which policies", "## What"} {
		got = append(got, firstCells(t, "reference/job-files.md", "\n"+heading+"\n")...)
	}
	var want []string
	for _, of := range []reflect.Type{
		reflect.TypeFor[job.Spec](), reflect.TypeFor[job.Retry](), reflect.TypeFor[job.HTTP](), reflect.TypeFor[job.LimitSpec](), reflect.TypeFor[job.Breaker](),
	} {
		want = append(want, keys(of)...)
	}
	same(t, "reference/job-files.md", got, want)
}

func TestEveryStateIsDescribed(t *testing.T) {
	var want []string
	for _, s := range job.States() {
		want = append(want, string(s))
	}
	same(t, "the table of states", firstCells(t, "reference/job-files.md", "\n| state | |\n"), want)
}

func TestTheMapHasEveryPackage(t *testing.T) {
	got := firstCells(t, "explanation/architecture.md", "\n## Packages\n")
	for _, top := range []string{"cmd/rota", "config", "election", "scheduler", "store"} {
		err := filepath.WalkDir("../"+top, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			path = strings.TrimPrefix(path, "../")
			sources, err := filepath.Glob("../" + path + "/*.go")
			switch {
			case err != nil:
				return err
			case len(sources) == 0 || slices.Contains(got, path):
			case strings.HasPrefix(path, "scheduler/executor/"), path == "scheduler/api/client": // named in the row above
			default:
				t.Errorf("the map lacks %s", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, path := range got {
		if _, err := os.Stat("../" + path); strings.Contains(path, "/") && err != nil && !strings.HasPrefix(path, "api/") {
			t.Errorf("the map has %s, which there is not", path)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	files, err := filepath.Glob("*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`) // within the tree
	for _, file := range append(files, "../README.md") {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// What the job file in the README and in job-files.md says has to be true.
func TestJobFilesInTheDocsLoad(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, file := range []string{"reference/job-files.md", "../README.md"} {
		blocks := block.FindAllStringSubmatch(read(t, file), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no job file", file)
		}
		for _, m := range blocks {
			if _, err := config.ParseJobs(file, []byte(m[1])); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestEveryFailureIsDescribed looks for each scenario, and for the tests that the page names.
func TestEveryFailureIsDescribed(t *testing.T) {
	for _, file := range []string{"explanation/failures.md", "../test/README.md"} {
		text := read(t, file)
		for family, last := range map[string]int{"A": 3, "B": 2, "C": 10, "D": 14} {
			for n := 1; n <= last; n++ {
				if !regexp.MustCompile(fmt.Sprintf(`\b%s%d\b`, family, n)).MatchString(text) {
					t.Errorf("%s lacks %s%d", file, family, n)
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

// hasTest says whether a folder has a test whose name begins like that.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(dir + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "\nfunc "+name) })
}
