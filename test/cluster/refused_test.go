package cluster

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/history"
)

// TestRefusedRequestsStarveNobody sends some 10,000 requests with a wrong token each second to the only replica, with pauses.
// It compares the lateness of runs with and without the flood: each slot runs. It also pauses all jobs: over the whole
// flood then, the store stays at one revision. The log gets only a few lines.
func TestRefusedRequestsStarveNobody(t *testing.T) {
	row(t)
	const (
		jobs      = 20
		clients   = 16
		perSecond = 11_000 // some permits are lost while the machine is busy
		rounds    = 3
		phase     = 4 * time.Second
	)
	ledger, dir := NewLedger(t), t.TempDir()
	token, entry := NewToken(t, binary, "harness", "admin")
	viewer, second := NewToken(t, binary, "reader", "viewer")
	roles, own := filepath.Join(dir, "auth.yaml"), filepath.Join(dir, "token")
	for path, text := range map[string]string{roles: "tokens:\n" + entry + second, own: token} {
		files.Write(t, path, text)
	}
	specs := map[string]job.Spec{}
	for i := range jobs {
		specs[fmt.Sprintf("tick-%d", i)] = job.Spec{Shell: ledger.Shell(""), Every: job.Duration(time.Second)}
	}
	c := Start(t, Config{
		Binary: binary, Replicas: 1, TokenFile: own, Jobs: specs,
		Flags: func(string) []string { return []string{"--auth-mode=required", "--auth-file=" + roles} },
	})
	etcd := Dial(t, c.Endpoints())
	others := func() int64 { // records that no run needs
		t.Helper()
		n := int64(0)
		for _, kind := range []string{"audit/", "tokens/", "sessions/", "jobs/"} {
			resp, err := etcd.Get(t.Context(), Prefix+"/"+kind, clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil {
				t.Fatal(err)
			}
			n += resp.Count
		}
		return n
	}
	before, lines := others(), strings.Count(c.Replicas()[0].Log(), "wrong proof of identity")

	// The token has the right form and an unknown id, so it costs what a genuine one costs.
	wrong, _ := NewToken(t, binary, "stranger", "admin")
	request := "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + wrong + "\r\n\r\n"
	storm := func() *flood {
		return startFlood(t, c.Replicas()[0].URL, request, clients, perSecond, http.StatusUnauthorized)
	}
	var quiet, flooded []time.Duration // lateness of each run
	var count floodCount
	var inRota, inKernel [2]time.Duration // processor time of the replica, without and with the flood
	slots := 0
	for range rounds {
		for _, under := range []bool{false, true} {
			from := time.Now().Truncate(time.Second).Add(time.Second)
			until := from.Add(phase)
			pid, i := c.Replicas()[0].PID(), 0
			var f *farFlood
			if under {
				i, f = 1, startFarFlood(t, c.Replicas()[0].URL, request, clients, perSecond)
			}
			ownBefore, kernelBefore := processorTime(t, pid)
			Let(time.Until(until))
			ownAfter, kernelAfter := processorTime(t, pid)
			inRota[i], inKernel[i] = inRota[i]+ownAfter-ownBefore, inKernel[i]+kernelAfter-kernelBefore
			if under {
				count.add(f.Stop())
			}
			slots += jobs * int(phase/time.Second)
			var late []time.Duration
			Await(t, 30*time.Second, "each slot of the phase has run", func() bool {
				late = latenessOf(ledger.Effects(), from, until)
				return len(late) == jobs*int(phase/time.Second)
			})
			if under {
				flooded = append(flooded, late...)
			} else {
				quiet = append(quiet, late...)
			}
		}
	}
	if after := others(); after != before {
		t.Errorf("the refusals changed the number of records from %d to %d", before, after)
	}
	if count.refused < 1000 || count.other > 0 {
		t.Errorf("%d requests were refused and %d were not: the flood is none", count.refused, count.other)
	}
	without, with := share(quiet, 50), share(flooded, 50)
	seconds := count.lasted.Seconds()
	t.Logf("%.0f requests per second, of which %.0f got their answer; %d slots ran; median lateness %v without and %v with the "+
		"flood: %+.0f %%",
		float64(count.sent)/seconds, float64(count.refused)/seconds, slots, without, with, 100*(float64(with)/float64(without)-1))
	t.Logf("in %v, the replica took %v and the kernel for it %v without the flood, %v and %v with it",
		rounds*phase, inRota[0], inKernel[0], inRota[1], inKernel[1])
	// Other programs of the machine may have either half to themselves, so only a multiple counts.
	if with > 3*without+200*time.Millisecond {
		t.Errorf("the flood makes runs late: %v instead of %v", with, without)
	}

	// While all jobs pause, only requests could write. Of the refused ones, none does: neither those of strangers, nor changes by a
	// viewer, which are fewer because each client has a rate.
	if _, err := c.Client.PauseAll(t.Context(), "the flood alone"); err != nil {
		t.Fatal(err)
	}
	Await(t, 30*time.Second, "the runs have ended, and nothing is written", func() bool {
		at := revision(t, etcd)
		return len(c.Recorder.Open()) == 0 && !Within(time.Second, func() bool { return revision(t, etcd) != at })
	})
	at, f := revision(t, etcd), storm()
	changes := startFlood(t, c.Replicas()[0].URL, "POST /v1/jobs/tick-0/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"+
		"Authorization: Bearer "+viewer+"\r\n\r\n", 2, 200, http.StatusForbidden)
	Await(t, 60*time.Second, "refusals", func() bool {
		return f.sent.Load() >= 10_000 && f.refused.Load() >= 2_000 && changes.refused.Load() >= 100
	})
	f.Stop()
	changes.Stop()
	c.Recorder.Sync()
	for _, v := range c.Recorder.Versions() {
		if v.Rev > at {
			t.Errorf("during the flood, revision %d wrote %s", v.Rev, v.Key)
		}
	}
	if now := revision(t, etcd); now != at {
		t.Errorf("the flood moved the store from revision %d to %d", at, now)
	}
	if n := f.other.Load() + changes.other.Load(); n > 0 {
		t.Errorf("%d requests of the flood were not refused", n)
	}
	if _, err := c.Client.ResumeAll(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	written := strings.Count(c.Replicas()[0].Log(), "wrong proof of identity") - lines
	if most := int(seconds)*15 + 150; written > most {
		t.Errorf("the refusals wrote %d lines to the log, want at most %d", written, most)
	}
	c.Check(ledger.Effects, nil, nil)
}

// latenessOf returns how long after its slot each execution of a time began.
func latenessOf(effects []history.Effect, from, until time.Time) (all []time.Duration) {
	for _, e := range effects {
		_, id, _ := strings.Cut(e.Run, "/")
		if slot, err := time.Parse(time.RFC3339Nano, id); err == nil && !slot.Before(from) && slot.Before(until) {
			all = append(all, e.Arrived.Sub(slot))
		}
	}
	return all
}

// revision returns the present revision of the store.
func revision(t *testing.T, etcd *clientv3.Client) int64 {
	t.Helper()
	resp, err := etcd.Get(t.Context(), Prefix, clientv3.WithCountOnly())
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}
