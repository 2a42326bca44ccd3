package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// More runs than one page has were submitted for later. The name of the job still stands for an earlier run.
func TestALatestRunBehindManySubmissions(t *testing.T) {
	fake := newFakeCluster()
	now := time.Now().UTC()
	later := job.Run{
		Job: "ok", Kind: job.KindDelayed, State: job.Pending, Slot: now, Due: now.Add(time.Hour), Created: now, Reason: job.ReasonNotYet,
	}
	for i := range 3 * latestRuns {
		later.ID = fmt.Sprintf("later-%03d", i)
		fake.runs[later.Name()] = later
	}
	hand := job.Run{
		Job: "slow", ID: "by-hand", Kind: job.KindManual, State: job.Failed, Slot: now, Created: now, Attempt: 1, Finished: now,
	}
	slot := hand
	slot.Kind, slot.Slot = job.KindScheduled, now.Add(-time.Hour).Truncate(time.Second)
	slot.ID = job.SlotID(slot.Slot)
	fake.runs[hand.Name()], fake.runs[slot.Name()] = hand, slot
	sweep := job.Run{Job: "sweep", ID: "1", Kind: job.KindManual, State: job.Pending, Slot: now, Created: now}
	sweep = sweep.SpreadOver([]string{"a"}, now)
	part := sweep.Copy("a", now.Add(time.Second))
	part.State, part.Attempt = job.Succeeded, 1
	fake.runs[sweep.Name()], fake.runs[part.Name()] = sweep, part
	server := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	defer server.Close()
	t.Setenv("HOME", t.TempDir())

	const old = "run ok/2026-01-31T01:30:00Z\n"
	for _, c := range []struct{ command, want string }{ // in this order: a canceled run has ended
		{"logs ok", old},
		{"run-info ok", old},
		{"retry ok", old},
		{"cancel ok", "run ok/later-"},
		{"explain slow", "run " + slot.Name() + "\n"},
		{"run-info slow", "run slow/by-hand\n"},
		{"approve ok", "run ok/later-"}, // none waits for a person
		{"wait slow --timeout 1s", "run slow/by-hand\n"},
		{"logs sweep", "run sweep/1.a\n"},
		{"run-info sweep", "run sweep/1\n"},
		{"retry sweep", "run sweep/1\n"},
		{"wait sweep --timeout 1ms", "run sweep/1\n"},
		{"cancel sweep", "run sweep/1\n"},
	} {
		var out, errs bytes.Buffer
		run(t.Context(), append(strings.Fields(c.command), "--server", server.URL), strings.NewReader(""), &out, &errs)
		if !strings.HasPrefix(errs.String(), c.want) {
			t.Errorf("rota %s says %q, want %q first", c.command, errs.String(), c.want)
		}
	}
}
