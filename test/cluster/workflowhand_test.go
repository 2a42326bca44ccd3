package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestStepsOfRecordsChangedByHand removes the record of a parent, and overwrites one with garbage, while their steps wait for
// another parent. A step whose parent has no record is skipped, and the reason names the record. A step whose parent has an
// unreadable record waits for its repair, also under another leader. A record that says another end decides the step as it says.
func TestStepsOfRecordsChangedByHand(t *testing.T) {
	slow(t)
	t.Parallel()
	ledger, gates := NewLedger(t), t.TempDir()
	gate := func(id string) string { return filepath.Join(gates, id) }
	first := []job.After{{Job: "load"}}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"load": {Shell: ledger.Shell("true")},
		"slow": {After: first, Overlap: job.OverlapAllow, Shell: ledger.Shell(
			`i=0; while [ ! -e "` + gates + `/${ROTA_RUN#*/}" ] && [ $i -lt 3000 ]; do sleep 0.1; i=$((i+1)); done`)},
		"fast":   {After: first, Overlap: job.OverlapAllow, Shell: ledger.Shell("true")},
		"join":   {After: []job.After{{Job: "fast"}, {Job: "slow"}}, Overlap: job.OverlapAllow, Shell: ledger.Shell("true")},
		"behind": {After: []job.After{{Job: "join", When: job.WhenDone}}, Overlap: job.OverlapAllow, Shell: ledger.Shell("true")},
	}})

	// begin starts the workflow, and returns its id as soon as fast has succeeded and join waits for slow.
	begin := func() (id string) {
		t.Helper()
		v, _, err := c.Client.Submit(t.Context(), "load", api.RunRequest{Workflow: true})
		if err != nil {
			t.Fatal(err)
		}
		_, id, _ = strings.Cut(v.Ref, "/")
		Await(t, 30*time.Second, "join waits for slow alone", func() bool {
			return c.Recorder.Runs("fast")[id].State == job.Succeeded && c.Recorder.Runs("slow")[id].State == job.Running
		})
		return id
	}
	ended := func(name, id string) (r job.Run) {
		t.Helper()
		Await(t, 30*time.Second, name+" ends", func() bool { r = c.Recorder.Runs(name)[id]; return r.State.Terminal() })
		return r
	}
	executed := func(run string) bool {
		for _, e := range ledger.Effects() {
			if e.Run == run {
				return true
			}
		}
		return false
	}

	removed, garbled, edited := begin(), begin(), begin()
	key := func(id string) string { return Prefix + "/runs/fast/" + id }
	whole := map[string]string{}
	for _, id := range []string{removed, garbled, edited} {
		whole[id] = value(t, c, key(id))
	}
	remove(t, c, key(removed))
	put(t, c, key(garbled), garbage["noise"])
	failed := strings.Replace(whole[edited], `"state":"succeeded"`, `"state":"failed"`, 1)
	if failed == whole[edited] {
		t.Fatalf("the record of fast has no such state: %s", failed)
	}
	put(t, c, key(edited), failed)
	for _, id := range []string{removed, garbled, edited} {
		if r := c.Recorder.Runs("join")[id]; r.State != job.Pending {
			t.Fatalf("join/%s is %s while slow executes: the fault came too late", id, r.State)
		}
		files.Write(t, gate(id), "")
		ended("slow", id)
	}

	if r, want := ended("join", removed), "parent fast has no run fast/"+removed; r.State != job.Skipped || r.Reason != want {
		t.Errorf("without the record of its parent, join is %s: %q, want skipped: %q", r.State, r.Reason, want)
	}
	if r, want := ended("join", edited), "parent fast failed"; r.State != job.Skipped || r.Reason != want {
		t.Errorf("after a parent that failed by its record, join is %s: %q, want skipped: %q", r.State, r.Reason, want)
	}
	leader := c.Leader()
	leader.Kill()
	leader.Start()
	c.WaitReady()
	Let(3 * time.Second) // a leader that ignored the unreadable record would decide now
	if r := c.Recorder.Runs("join")[garbled]; r.State != job.Pending || executed("join/"+garbled) {
		t.Errorf("with an unreadable record of its parent, join is %s: %q, want pending", r.State, r.Reason)
	}
	if !quarantined(t, c.Leader())[key(garbled)] {
		t.Errorf("the leader does not name %s as unreadable", key(garbled))
	}
	put(t, c, key(garbled), whole[garbled])
	if r := ended("join", garbled); r.State != job.Succeeded || !executed("join/"+garbled) {
		t.Errorf("after the repair, join is %s: %q, want succeeded", r.State, r.Reason)
	}

	for _, id := range []string{removed, edited} {
		if executed("join/" + id) {
			t.Errorf("join/%s ran without its parents", id)
		}
		out, code := Command(t, binary, "run-info", "join/"+id, "--server="+c.Replicas()[0].URL)
		if want := c.Recorder.Runs("join")[id].Reason; code != 0 || !strings.Contains(out, want) {
			t.Errorf("rota run-info exits with %d and does not say %q:\n%s", code, want, out)
		}
	}
	c.Check(ledger.Effects, map[string]bool{key(removed): true, key(garbled): true, key(edited): true}, nil)
}

// value returns the value of a key.
func value(t *testing.T, c *Cluster, key string) (text string) {
	t.Helper()
	Await(t, 10*time.Second, "the store has "+key, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		resp, err := c.Recorder.client.Get(ctx, key, clientv3.WithLimit(1))
		if err == nil && len(resp.Kvs) == 1 {
			text = string(resp.Kvs[0].Value)
		}
		return text != ""
	})
	return text
}
