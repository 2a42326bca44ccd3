package api_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestReads(t *testing.T) {
	f := newFake()
	slot := time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC)
	f.putRun(job.Run{Job: "backup", ID: job.SlotID(slot), Slot: slot, Kind: job.KindScheduled, State: job.Succeeded})
	srv := serve(t, f.backend())
	runPath := "/v1/runs/backup/" + job.SlotID(slot)

	for _, tc := range []struct {
		name, path string
		status     int
		contains   []string
	}{
		{"the cluster", "/v1/cluster", 200, []string{`"name":"/rota"`, `"leader":null`, `"replicas":[]`, `"quarantined":[]`, `"revision":103`}},
		{"all jobs", "/v1/jobs", 200, []string{`"name":"backup"`, `"name":"report"`, `"active":[]`, `"next":null`}},
		{"one job", "/v1/jobs/backup", 200, []string{`"revision":101`, `"origin":{"kind":"file","source":"jobs.yaml"}`}},
		{"an unknown job names the nearest", "/v1/jobs/bakup", 404, []string{`did you mean \"backup\"?`}},
		{"a job unlike any other suggests nothing", "/v1/jobs/zzzzzzzz", 404, []string{`"detail":"there is no job \"zzzzzzzz\""`}},
		{"a run", runPath, 200, []string{`"run":"backup/2026-01-31T02:30:00Z"`, `"state":"succeeded"`, `"revision":103`}},
		{"a run with an escaped slot", strings.ReplaceAll(runPath, ":", "%3A"), 200, []string{`"run":"backup/2026-01-31T02:30:00Z"`}},
		{"an unknown run", "/v1/runs/backup/2026-01-31T02:31:00Z", 404, []string{"there is no run backup/2026-01-31T02:31:00Z"}},
		{"a run of an unknown job names the nearest", "/v1/runs/bakup/x", 404, []string{`did you mean \"backup\"?`}},
		{"workers", "/v1/workers", 200, []string{`"name":"w1"`, `"free":3`}},
		{"next", "/v1/jobs/backup/next?n=2&from=2026-01-31T02:30:00Z", 200, []string{`{"slots":["2026-01-31T03:00:00Z","2026-01-31T04:00:00Z"],"notes":[]}`}},
		{"next from a time with a zone", "/v1/jobs/backup/next?n=1&from=2026-01-31T02:30:00+01:00", 200, []string{`"2026-01-31T02:00:00Z"`}},
		{"next of an unknown job", "/v1/jobs/reprot/next", 404, []string{`did you mean \"report\"?`}},
		{"next of too many", "/v1/jobs/backup/next?n=1001", 422, []string{"query.n"}},
		{"next from no time", "/v1/jobs/backup/next?from=noon", 422, []string{"RFC 3339"}},
		{"explain", "/v1/jobs/backup/explain?time=2026-01-31T02:30:00Z", 200, []string{`"verdict":"ran"`, `"text":[]`}},
		{"explain without a time", "/v1/jobs/backup/explain", 422, []string{"query.time"}},
		{"explain behind the year 9999", "/v1/jobs/backup/explain?time=9999-12-31T23:59:59-01:00", 422, []string{"query.time: lies outside"}},
		{"explain before the first year", "/v1/jobs/backup/explain?time=0000-01-01T00:00:00%2B01:00", 422, []string{"query.time: lies outside"}},
		{"an unknown parameter", "/v1/runs?stat=failed", 422, []string{"query.stat"}},
		{"an unknown state", "/v1/runs?state=done", 422, []string{`\"done\" is not a state: use pending, armed`}},
		{"a bad since", "/v1/runs?since=yesterday", 422, []string{"24h or 7d"}},
		{"since a date", "/v1/runs?since=2026-01-31", 200, []string{`"run":"backup/2026-01-31T02:30:00Z"`}},
		{"since weeks", "/v1/runs?since=2w", 200, []string{`"runs":`}},
		{"since too many weeks", "/v1/runs?since=1e9w", 422, []string{"24h or 7d"}},
		{"a forged token", "/v1/runs?continue=abc", 422, []string{"query.continue"}},
		{"runs of an unknown job", "/v1/runs?job=bakup", 404, []string{`did you mean \"backup\"?`}},
		{"runs of a job that has none", "/v1/runs?job=report", 200, []string{`{"runs":[]}`}},
		{"ad hoc runs, of which there are none", "/v1/runs?job=adhoc", 200, []string{`{"runs":[]}`}},
		{"an unknown path", "/v1/job", 404, []string{"/v1/openapi.json"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask(t, srv, "GET", tc.path, "")
			if a.status != tc.status {
				t.Fatalf("status: got %d, want %d: %s", a.status, tc.status, a.text)
			}
			if a.status >= 400 {
				a.problem(t)
			}
			for _, want := range tc.contains {
				if !strings.Contains(a.text, want) {
					t.Errorf("body lacks %s:\n%s", want, a.text)
				}
			}
		})
	}

	t.Run("a job and a run carry their revision as ETag", func(t *testing.T) {
		for path, want := range map[string]string{"/v1/jobs/backup": `"101"`, runPath: `"103"`} {
			if got := ask(t, srv, "GET", path, "").header.Get("ETag"); got != want {
				t.Errorf("ETag of %s: got %s, want %s", path, got, want)
			}
		}
	})
}

func TestRunPages(t *testing.T) {
	f := newFake()
	now := time.Now().UTC().Truncate(time.Second)
	for i := range 5 {
		slot := now.Add(-time.Duration(i) * time.Hour)
		state := job.Succeeded
		if i%2 == 1 {
			state = job.Failed
		}
		// Two runs share each slot, so that a page can end between two runs of one slot.
		f.putRun(job.Run{Job: "backup", ID: job.SlotID(slot), Slot: slot, State: state})
		f.putRun(job.Run{Job: "report", ID: job.SlotID(slot), Slot: slot, State: job.Running})
	}
	srv := serve(t, f.backend())
	walk := func(t *testing.T, query string, limit int) (names []string) {
		t.Helper()
		next := ""
		for range 20 {
			a := ask(t, srv, "GET", fmt.Sprintf("/v1/runs?limit=%d&continue=%s%s", limit, url.QueryEscape(next), query), "")
			if a.status != 200 {
				t.Fatalf("status %d: %s", a.status, a.text)
			}
			page := decode[api.RunList](t, a)
			if len(page.Runs) > limit {
				t.Fatalf("page has %d runs, want at most %d", len(page.Runs), limit)
			}
			for _, r := range page.Runs {
				names = append(names, r.Ref)
			}
			if next = page.Continue; next == "" {
				return names
			}
		}
		t.Fatal("the pages do not end")
		return nil
	}

	all := walk(t, "", 100)
	if len(all) != 10 || all[0] != "backup/"+job.SlotID(now) || all[1] != "report/"+job.SlotID(now) {
		t.Errorf("got %v, want ten runs, latest slot first and then by job", all)
	}
	for _, limit := range []int{1, 3, 5, 10} {
		if diff := cmp.Diff(all, walk(t, "", limit)); diff != "" {
			t.Errorf("pages of %d differ from the whole (-want +got):\n%s", limit, diff)
		}
	}
	for query, want := range map[string]int{
		"&state=failed":               2,
		"&state=failed&state=running": 7,
		"&state=failed,running":       7,
		"&job=backup":                 5,
		"&since=90m":                  4,
		"&since=1d&job=report":        5,
		"&since=" + url.QueryEscape(now.Add(-time.Hour).Format(time.RFC3339)): 4,
	} {
		if got := walk(t, query, 2); len(got) != want {
			t.Errorf("%s: got %d runs %v, want %d", query, len(got), got, want)
		}
	}
}

func TestPreconditionHolds(t *testing.T) {
	for _, tc := range []struct {
		pre  api.Precondition
		rev  int64
		want bool
	}{
		{api.Precondition{}, 0, true},
		{api.Precondition{}, 5, true},
		{api.Precondition{Revision: 5}, 5, true},
		{api.Precondition{Revision: 5}, 6, false},
		{api.Precondition{Revision: 5}, 0, false},
		{api.Precondition{Exists: true}, 0, false},
		{api.Precondition{Exists: true}, 5, true},
		{api.Precondition{Absent: true}, 0, true},
		{api.Precondition{Absent: true}, 5, false},
	} {
		if got := tc.pre.Holds(tc.rev); got != tc.want {
			t.Errorf("%+v at revision %d: got %t, want %t", tc.pre, tc.rev, got, tc.want)
		}
	}
}

// A retry has the slot of its run, and an id that sorts before or after that of the run. The name of a job stands for its first run
// in the list, which must be the last one that was created.
func TestTheLatestRunOfASlotIsFirst(t *testing.T) {
	f, now := newFake(), time.Now().UTC().Truncate(time.Second)
	for i, id := range []string{job.SlotID(now), "key-b", "key-a", "01m8h7c8gfeh0yhk2bwp3g267b"} {
		f.putRun(job.Run{Job: "again", ID: id, Slot: now, State: job.Failed, Created: now.Add(time.Duration(i) * time.Second)})
	}
	srv := serve(t, f.backend())
	want := []string{"again/01m8h7c8gfeh0yhk2bwp3g267b", "again/key-a", "again/key-b", "again/" + job.SlotID(now)}
	var got []string
	for next, pages := "", 0; pages == 0 || next != "" && pages < 9; pages++ {
		page := decode[api.RunList](t, ask(t, srv, "GET", "/v1/runs?job=again&limit=1&continue="+url.QueryEscape(next), ""))
		next = page.Continue
		for _, r := range page.Runs {
			got = append(got, r.Ref)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs of one slot (-want +got):\n%s", diff)
	}
}
