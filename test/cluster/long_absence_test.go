package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// TestDownForTwoWeeks runs a cluster with clocks that are two weeks behind, stops it, sets the clocks right and starts it. For
// the cluster, two weeks have passed. It makes up for as many slots as each job's policy says. The
// number of runs that wait for a worker stays within its bound.
func TestDownForTwoWeeks(t *testing.T) {
	row(t)
	t.Parallel()
	const weeks = 14 * 24 * time.Hour
	sink, inbox := NewSink(t), NewInbox(t)
	spec := func(every time.Duration, missed job.Missed, window time.Duration, limit int) job.Spec {
		return job.Spec{
			Every: job.Duration(every), Missed: missed, MissedWindow: job.Duration(window), MissedLimit: limit,
			HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"},
		}
	}
	backlog := spec(5*time.Second, job.MissedAll, 0, planner.MaxQueued+50)
	backlog.Overlap, backlog.Workers = job.OverlapAllow, only("late") // that worker does not exist yet
	// How many slots of the two weeks each job must make up for.
	jobs := map[string]struct {
		spec        job.Spec
		least, most int
	}{
		"none":           {spec(time.Minute, job.MissedNone, 0, 0), 0, 0},
		"latest":         {spec(time.Minute, job.MissedLatest, 0, 0), 1, 1},
		"latest-window":  {spec(3*time.Hour, job.MissedLatest, time.Nanosecond, 0), 0, 0},
		"all-by-default": {spec(time.Minute, job.MissedAll, 0, 0), 100, 100},
		"all-limit":      {spec(time.Minute, job.MissedAll, 0, 30), 30, 30},
		"all-window":     {spec(time.Minute, job.MissedAll, 20*time.Minute, 0), 19, 21},
		"all-hourly":     {spec(time.Hour, job.MissedAll, 0, 400), 335, 337},
		"all-seconds":    {spec(5*time.Second, job.MissedAll, 0, 50), 50, 50},
		"backlog":        {backlog, planner.MaxQueued + 50, planner.MaxQueued + 50},
	}
	specs := make(map[string]job.Spec)
	for name, j := range jobs {
		specs[name] = j.spec
	}
	silent := specs["none"]
	silent.Notify = inbox.NotifyOnce()
	specs["none"] = silent
	c := Start(t, Config{Binary: faultBinary(t), Replicas: 2, Jobs: specs, Etcd: []string{startEtcd(t, 1<<30)}, Prepare: func(c *Cluster) {
		giveClocks(c)
		for _, n := range c.nodes {
			setClock(t, c, n, -weeks)
		}
	}})
	Await(t, 20*time.Second, "jobs run two weeks ago", func() bool {
		for _, r := range c.Recorder.Runs("all-seconds") {
			if time.Since(r.Slot) > weeks/2 && r.State == job.Succeeded {
				return true
			}
		}
		return false
	})
	for _, n := range c.Replicas() {
		n.Terminate()
	}
	stopped := time.Now().Add(-weeks)
	c.Recorder.Sync()
	old := termOf(c)
	before := len(sink.Requests())
	for _, n := range c.Replicas() {
		setClock(t, c, n, 0)
		n.Start()
	}
	started := time.Now()
	c.WaitReady()
	Await(t, 30*time.Second, "runs wait for a worker", func() bool { return mostWaiting(c, "backlog") >= planner.MaxQueued })
	c.AddWorker("w1", "--worker-labels=for=late")
	want := 0
	for _, j := range jobs {
		want += j.least
	}
	Await(t, 3*time.Minute, "what was missed has been made up for", func() bool {
		return c.decidedUpTo(started) && len(sink.Requests())-before >= want && len(c.Recorder.Open()) == 0
	})
	c.Check(sink.Requests, nil, nil)
	if n := mostWaiting(c, "backlog"); n > planner.MaxQueued {
		t.Errorf("%d runs of one job waited at a time, want at most %d: the queue is not bounded", n, planner.MaxQueued)
	}

	etcd := Dial(t, c.Endpoints())
	Await(t, 30*time.Second, "every event of the job is reported", func() bool {
		events, err := etcd.Get(t.Context(), Prefix+"/events/none/", clientv3.WithPrefix())
		told, err2 := etcd.Get(t.Context(), Prefix+"/told/none")
		if err != nil || err2 != nil || len(events.Kvs) == 0 || len(told.Kvs) == 0 {
			return false
		}
		var state job.NotifyState
		if err := json.Unmarshal(told.Kvs[0].Value, &state); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(events.Kvs, func(kv *mvccpb.KeyValue) bool { return kv.ModRevision > state.UpTo })
	})
	if texts := inbox.Texts(); len(texts) != 1 || !strings.HasPrefix(texts[0], "rota: job none missed ") {
		t.Errorf("two weeks of downtime sent %q, want one message", texts)
	}

	// Slots that are due before the new leader leads are missed too, and are among the latest.
	led := started
	for _, v := range c.Recorder.Versions() {
		if cursor, ok := cursorIn(v); ok && cursor.Term > old {
			led = v.Seen
			break
		}
	}
	for name, j := range jobs {
		n := 0
		for _, r := range c.Recorder.Runs(name) {
			if r.Slot.After(stopped) && r.Slot.Before(led) && r.State == job.Succeeded {
				n++
			}
		}
		// Some slots are due while the cluster is down in real time. They are late too, hence the slack.
		if slack := int(math.Ceil(float64(10*time.Second) / float64(j.spec.Every.Std()))); n < j.least || n > j.most+slack {
			t.Errorf("%s: made up for %d slots, want %d to %d", name, n, j.least, j.most)
		}
		t.Logf("%s: made up for %d slots of %s", name, n, fmt.Sprint(int(weeks/j.spec.Every.Std())))
	}
}
