package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestOccupiedPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	err = checkFree(addr)
	if err == nil || !strings.Contains(err.Error(), addr) || exitCode(context.Background(), err) != exitFailed {
		t.Errorf("checkFree(%s) = %v, want an error that names it, with code %d", addr, err, exitFailed)
	}
	l.Close()
	if err := checkFree(addr); err != nil {
		t.Errorf("checkFree(%s) = %v after it was released, want nil", addr, err)
	}
}

func TestConsoleTellsWhatChangesOfJobs(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&cli{out: &out}, "http://127.0.0.1:8470", "")
	definition := func(generation int64, paused bool, every time.Duration) api.Event {
		v := api.JobView{Job: job.Job{Name: "a", Generation: generation, Spec: &job.Spec{Every: job.Duration(every)}}}
		if paused {
			v.Paused = &job.Pause{}
		}
		value, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return api.Event{Kind: api.KindJob, Name: "a", Value: value}
	}
	removed := api.Event{Kind: api.KindJob, Name: "a", Deleted: true}
	for _, step := range []struct {
		event api.Event
		want  string // "" for nothing
	}{
		{removed, ""},
		{definition(1, false, time.Minute), "job a added: every 1m, no more runs"},
		{definition(1, false, time.Minute), ""},
		{definition(2, false, time.Hour), "job a changed: every 1h, no more runs"},
		{definition(1, false, time.Minute), ""}, // it comes late
		{definition(2, true, time.Hour), "job a paused"},
		{definition(2, true, time.Hour), ""},
		{definition(2, false, time.Hour), "job a resumed"},
		{removed, "job a removed"},
	} {
		out.Reset()
		c.showJob(step.event)
		_, got, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), " ") // without the time of day
		if got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}

func TestStoreOfServersElsewhereIsNotLookedForHere(t *testing.T) {
	for servers, want := range map[string]bool{
		"":                      false,
		"http://127.0.0.1:8471": false,
		"http://localhost:8470": false,
		"http://[::1]:8470":     false,
		"127.0.0.1:8470":        false,
		"http://127.0.0.1:8470,http://127.0.0.1:8471": false,
		"http://rota.internal:8470":                   true,
		"http://127.0.0.1:8470,http://10.0.0.7:8470":  true,
		"rota.internal:8470":                          true,
	} {
		if got := elsewhere(servers); got != want {
			t.Errorf("elsewhere(%q) = %v, want %v", servers, got, want)
		}
	}
}
