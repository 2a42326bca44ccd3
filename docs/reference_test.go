package docs_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestEveryCheckOfReadinessIsDescribed(t *testing.T) {
	same(t, "health.md", firstCells(t, "reference/health.md", "## Checks of readiness"),
		matches(t, `Name: "(\w+)", Probe`, "cmd/rota/internal/backend", "scheduler/api"))
}

func TestEveryKeyOfTheStoreIsDescribed(t *testing.T) {
	var got []string
	for _, key := range firstCells(t, "reference/etcd-keys.md", "## Keys") {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, "/rota/"), "/")
		got = append(got, kind)
	}
	// Some kinds of records in package store are constants of package job.
	same(t, "etcd-keys.md", got, matches(t, `(?m)^\s*(?:Kind|Record)\w+\s+(?:Kind|RecordKind)\s*=\s*"(\w+)"`, "store", "scheduler/job"))
}

func TestEveryStateIsDescribed(t *testing.T) {
	var want []string
	for _, s := range job.States() {
		want = append(want, string(s))
	}
	same(t, "job-files.md", firstCells(t, "reference/job-files.md", "## States of a run"), want)
}

func TestEveryResourceIsDescribed(t *testing.T) {
	_, table, _ := strings.Cut(read(t, "reference/job-files.md"), "\n## Resources\n")
	table, _, _ = strings.Cut(table, "\n\nEach limit")
	var got []string
	for _, name := range jsonNames(reflect.TypeFor[job.Resources]()) {
		if strings.Contains(table, "\n| `"+name+"` |") {
			got = append(got, name)
		}
	}
	same(t, "job-files.md", got, jsonNames(reflect.TypeFor[job.Resources]()))
}

func TestEveryKindOfAttentionIsDescribed(t *testing.T) {
	same(t, "monitor.md", firstCells(t, "how-to/monitor.md", "## Ask what is wrong"), attention.Kinds())
}

func TestEveryVerdictIsDescribed(t *testing.T) {
	same(t, "reasons.md", firstCells(t, "reference/reasons.md", "## Verdicts"), matches(t, `(?m)^\s*(?:verdict\w+|Unknown)\s*= "([^"]+)"`, "scheduler/explain"))
}

// TestEveryReasonIsInTheCode looks for each quoted reason in the production code, up to its first placeholder.
func TestEveryReasonIsInTheCode(t *testing.T) {
	var all strings.Builder
	sources(t, func(_, text string) { all.WriteString(text) }, "scheduler", "cmd/rota")
	for _, heading := range []string{"## Why a run waits", "## Why a slot was skipped", "## Why an attempt ended", "## Why a run ended"} {
		for _, reason := range firstCells(t, "reference/reasons.md", heading) {
			fixed, _, _ := strings.Cut(reason, "…")
			if !strings.Contains(all.String(), strings.TrimSpace(fixed)) {
				t.Errorf("reasons.md has %q, which no production file has", reason)
			}
		}
	}
}

func TestTheMapHasEveryPackage(t *testing.T) {
	const page = "explanation/architecture.md"
	got := firstCells(t, page, "## Packages")
	executors := regexp.MustCompile("(?m)^\\| `scheduler/executor` .*").FindString(read(t, page))
	for _, top := range []string{"cmd/rota", "config", "election", "scheduler", "store"} {
		err := filepath.WalkDir("../"+top, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			path = strings.TrimPrefix(path, "../")
			files, err := filepath.Glob("../" + path + "/*.go")
			switch {
			case err != nil:
				return err
			case len(files) == 0 || slices.Contains(got, path):
			case path == "scheduler/api/client": // described in the row of scheduler/api
			case strings.HasPrefix(path, "scheduler/executor/") && strings.Contains(executors, "`"+strings.TrimPrefix(path, "scheduler/executor/")+"`"):
			default:
				t.Errorf("the map does not describe %s", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, path := range got {
		if _, err := os.Stat("../" + path); strings.Contains(path, "/") && err != nil && !strings.HasPrefix(path, "api/") {
			t.Errorf("the map describes %s, which does not exist", path)
		}
	}
}

func TestEveryExitCodeIsDescribed(t *testing.T) {
	codes := matches(t, `(?m)^\s*exit[A-Z]\w+\s*= (\d+)`, "cmd/rota/exit.go")
	var described []string
	for _, name := range firstCells(t, "reference/cli.md", "## Exit codes") {
		if !strings.HasPrefix(name, "--") {
			described = append(described, name)
		}
	}
	same(t, "cli.md", described, codes)
}

// TestTheFilesToTouchExist looks for each Go file that a page names.
func TestTheFilesToTouchExist(t *testing.T) {
	text := read(t, "explanation/architecture.md") + read(t, "how-to/write-an-idempotent-target.md")
	for _, m := range regexp.MustCompile("`([\\w/]+/\\w+\\.go)`").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc([]string{"../", "../scheduler/"}, func(top string) bool {
			_, err := os.Stat(top + m[1])
			return err == nil
		}) {
			t.Errorf("the documentation names %s, which does not exist", m[1])
		}
	}
}

// TestTheNumbersOfFilesAreThoseOfTheTest compares the numbers of files on the architecture page with the table in test/arch.
func TestTheNumbersOfFilesAreThoseOfTheTest(t *testing.T) {
	page := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(read(t, "explanation/architecture.md"), "$1")
	rows := regexp.MustCompile("(?m)^\t\\{\"([^\"]+)\", .*, ([0-9]+), ").FindAllStringSubmatch(read(t, "../test/arch/additions_test.go"), -1)
	if len(rows) == 0 {
		t.Fatal("additions_test.go has no rows")
	}
	for _, m := range rows {
		if !strings.Contains(page, "\n| "+m[1]+" | "+m[2]+" |") {
			t.Errorf("architecture.md does not say that %s touches %s files", m[1], m[2])
		}
	}
}
