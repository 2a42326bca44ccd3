package arch

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// additions has one row for each kind of addition that "Where to add something" in docs/explanation/architecture.md lists. Package
// config has the test of job keys.
var additions = []struct {
	kind   string
	member string   // names an existing member in Go source
	most   int      // the number of production files that may name it
	uses   []string // files and folders that name it for its effect, or by choice: an addition can do without them
}{
	// The best of the compared schedulers, Alertmanager, needs three: flag, option, default.
	{"a setting", `fast_takeover|FastTakeover`, 2, []string{"cmd/rota/"}},
	{"a metric", `rota_worker_sessions_lost_total`, 1, nil},
	// dkron needs two for the server: the route and the OpenAPI document.
	{"an API route, server side", `AcceptRestored`, 2, []string{"cmd/rota/", "scheduler/api/client/"}},
	{"an API route with client and backend", `AcceptRestored`, 4, []string{"cmd/rota/accept.go"}},
	{"a command", `newHealthCommand`, 2, nil},
	// Alertmanager needs a folder, a struct and a line. A handler is also registered by its worker, and the fast codec of
	// package job knows it by choice.
	{"an executor, besides its folder", `[sS]pec\.Handler\b|\bs\.Handler\b|"handler"|executor/handler"`, 3, []string{
		"deploy/", "scheduler/executor/handler/", "scheduler/job/worker.go", "scheduler/planner/demand.go",
		"scheduler/job/parsejob.go", "scheduler/job/share.go",
	}},
	{"an occasion for messages", `\bOnRecovery\b`, 3, nil},
	// send/reach.go and send/services.go list services with a field of their own for the host or the title.
	{"a service for messages", `"pushover"`, 1, []string{"scheduler/notify/send/"}},
}

// TestAnAdditionTouchesFewFiles counts the files that name one existing member of each kind.
func TestAnAdditionTouchesFewFiles(t *testing.T) {
	files := goFiles(t)
	for _, row := range additions {
		member := regexp.MustCompile(row.member)
		var found []string
		for path, text := range files {
			isUse := slices.ContainsFunc(row.uses, func(use string) bool { return strings.HasPrefix(path, use) })
			if !isUse && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "test/") && member.Match(text) {
				found = append(found, path)
			}
		}
		slices.Sort(found)
		if len(found) == 0 || len(found) > row.most {
			t.Errorf("%s touches %d files, want 1 to %d: %s", row.kind, len(found), row.most, strings.Join(found, " "))
		}
	}
}
