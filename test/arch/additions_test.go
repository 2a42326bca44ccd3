package arch

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// additions has one row for each kind of addition in the section "Where to add something" of docs/explanation/architecture.md.
// The test for a new job key is in package config.
var additions = []struct {
	kind   string
	member string   // regular expression for the names of an existing member in Go source
	most   int      // the number of production files that may name it
	uses   []string // not counted: files and folders that use the member, which an addition can do without
}{
	// Alertmanager is the best of the compared programs. It needs changes in three places: flag, option, default.
	{"a setting", `fast_takeover|FastTakeover`, 2, []string{"cmd/rota/"}},
	{"a metric", `rota_worker_sessions_lost_total`, 1, nil},
	{"a gauge with a source of its own", `storedTokens|from\.Tokens`, 3, nil},
	// dkron needs changes in two files of the server: the route and the OpenAPI document.
	{"an API route, server side", `AcceptRestored`, 2, []string{"cmd/rota/", "scheduler/api/client/"}},
	{"an API route with client and backend", `AcceptRestored`, 4, []string{"cmd/rota/accept.go"}},
	{"a command", `newHealthCommand`, 2, nil},
	// Alertmanager needs a folder, a struct and a line. Rota's handlers are also registered by their worker. The fast codec of
	// package job names handlers too, which an addition can do without.
	{"an executor, besides its folder", `[sS]pec\.Handler\b|\bs\.Handler\b|"handler"|executor/handler"`, 4, []string{
		"deploy/", "scheduler/executor/handler/", "scheduler/job/worker.go", "scheduler/planner/demand.go",
		"scheduler/job/parsejob.go", "scheduler/job/share.go",
	}},
	// The page shows where a container executes, which an addition can do without.
	{"an executor with keys of its own", `\b(job|s|spec|Spec)\.Container\b|\*Container\b|"container"|executor/container"`, 7, []string{
		"scheduler/executor/", "scheduler/api/web/container.go",
	}},
	{"an occasion for messages", `\bOnRecovery\b`, 3, nil},
	// send/reach.go and send/services.go list only services with their own field for the host or the title.
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
