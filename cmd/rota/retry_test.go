package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestOfARunOnEveryWorkerTheFailedCopiesAreRepeated(t *testing.T) {
	of := job.Run{Job: "sweep", ID: "1", State: job.Failed, Copies: []string{"a", "b"}}
	failed := job.Run{Job: "sweep", ID: "1.b", Kind: job.KindCopy, On: "b", State: job.Failed}
	views := []api.RunView{api.NewRunView(of), api.NewRunView(failed)}
	if got := toRepeat(views, []job.State{job.Failed}); len(got) != 1 || got[0].name != "sweep/1.b" {
		t.Errorf("got %v, want the copy alone", got)
	}
	views = append(views, api.NewRunView(job.Run{Job: "sweep", ID: "2", State: job.Succeeded, RetryOf: "sweep/1"}))
	if got := toRepeat(views, []job.State{job.Failed}); len(got) != 0 {
		t.Errorf("got %v, but the whole run was repeated", got)
	}
}

func TestCopiesAreCanceledWithTheirRun(t *testing.T) {
	copied := func(on string, s job.State) api.RunView {
		return api.NewRunView(job.Run{Job: "sweep", ID: "1." + on, Kind: job.KindCopy, On: on, State: s})
	}
	of := api.NewRunView(job.Run{Job: "sweep", ID: "1", State: job.Pending, Copies: []string{"a", "b", "c"}})
	asked := api.NewRunView(job.Run{Job: "slow", ID: "1", State: job.Running, Cancel: &job.Cancel{By: "alice"}})
	views := []api.RunView{copied("a", job.Running), copied("b", job.Succeeded), copied("c", job.Running), of, asked}
	for waits, want := range map[bool][]string{false: {"sweep/1"}, true: {"sweep/1", "slow/1"}} {
		var got []string
		for _, target := range toCancel(views, waits) {
			got = append(got, target.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("with waiting %t: got %v, want %v", waits, got, want)
		}
	}
}

// TestTheOtherTokensAreRevoked revokes a token that is gone already, and another one.
func TestTheOtherTokensAreRevoked(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"title":"Not Found","status":404,"detail":"no such token"}`))
	}))
	defer server.Close()
	t.Setenv("HOME", t.TempDir())
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"token", "revoke", "aaaabbbbcccc", "ddddeeeeffff", "--server", server.URL}, strings.NewReader(""), &out, &errs)
	if code != 3 || len(asked) != 2 {
		t.Errorf("got exit code %d after requests for %v: %s", code, asked, &errs)
	}
}
