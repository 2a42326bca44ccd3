package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// os/exec gives a process with a nil environment the variables of this process, and so those of settings.
func TestAReplicaOfDevGetsNoSettingsFromTheEnvironment(t *testing.T) {
	d := &dev{cli: &cli{environ: []string{"ROTA_NODE_NAME=x"}}}
	if kept := d.environ(); kept == nil || len(kept) > 0 {
		t.Errorf("with settings alone: got %#v, want an empty environment that is not nil", kept)
	}
	d.cli.environ = []string{"ROTA_NODE_NAME=x", "HOME=/root"}
	if kept := d.environ(); !slices.Equal(kept, []string{"HOME=/root"}) || d.cli.environ[0] != "ROTA_NODE_NAME=x" {
		t.Errorf("got %v, and %v are left of the own ones; want HOME alone, and all own ones", kept, d.cli.environ)
	}
}

func TestTheErrorNamesAnOccupiedPort(t *testing.T) {
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

func TestTheConsoleShowsChangesOfJobs(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&cli{out: &out}, "http://127.0.0.1:8470", "", "")
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
		want  string // "": the console prints nothing
	}{
		{removed, ""},
		{definition(1, false, time.Minute), "job a added: every 1m, no more runs"},
		{definition(1, false, time.Minute), ""},
		{definition(2, false, time.Hour), "job a changed: every 1h, no more runs"},
		{definition(1, false, time.Minute), ""}, // an event of an old revision that arrives late
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

func TestDevNamesTheSettingsThatItIgnores(t *testing.T) {
	environ := []string{"HOME=" + t.TempDir(), "ROTA_SERVER=http://q1:8470", "ROTA_TEST_SEED=1", "ROTA_WORKER_CAPACITY=",
		"ROTA_ELECTION_TTL=9s", "ROTA_CONFIG=/etc/rota/q1.yaml"}
	const want = "rota dev makes its own settings and ignores ROTA_CONFIG, ROTA_ELECTION_TTL\n"
	code, _, stderr := runHere(environ, "dev", "--jobs", "missing.yaml")
	if code != exitBadConfig || strings.Count(stderr, want) != 1 {
		t.Errorf("got %d, %q; want %d and %q once", code, stderr, exitBadConfig, want)
	}
	if _, _, stderr := runHere(environ[:4], "dev", "--jobs", "missing.yaml"); strings.Contains(stderr, "ignores") {
		t.Errorf("got %q, want nothing left out", stderr)
	}
}
