package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestTheConsoleShowsNoRunBeforeItsTime(t *testing.T) {
	var out bytes.Buffer
	c := console{cli: &cli{out: &out}}
	slot := time.Now().Add(time.Hour).UTC()
	view := api.NewRunView(job.Run{Job: "tick", ID: "a", State: job.Running, Due: slot, Started: slot})
	c.show(&view)
	if want := slot.Local().Format(time.TimeOnly); !strings.HasPrefix(out.String(), want+" tick/a started") {
		t.Errorf("got %q, want it at %s", out.String(), want)
	}
}

func TestTheConsoleShowsWhenARunEnded(t *testing.T) {
	var out bytes.Buffer
	c := console{cli: &cli{out: &out}}
	ended := time.Now().Add(-time.Hour).UTC()
	view := api.NewRunView(job.Run{Job: "tick", ID: "a", State: job.Succeeded, Started: ended.Add(-time.Second), Finished: ended})
	c.show(&view)
	if want := ended.Local().Format(time.TimeOnly); !strings.HasPrefix(out.String(), want+" tick/a succeeded in 1s") {
		t.Errorf("got %q, want it at %s", out.String(), want)
	}
}
