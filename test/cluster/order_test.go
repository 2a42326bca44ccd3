package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestOrdersAreDeliveredTwice copies every order of a leader, to the same worker and to another one. It copies at once, and
// again after the order has been closed. Each run is executed once.
func TestOrdersAreDeliveredTwice(t *testing.T) {
	row(t)
	t.Parallel()
	sink, ledger := NewSink(t), NewLedger(t)
	sink.Delay(200 * time.Millisecond)
	every := job.Duration(time.Second)
	jobs := map[string]job.Spec{"write": {Every: every, Missed: job.MissedAll, Shell: ledger.Shell("")}}
	for i := range 10 {
		jobs[fmt.Sprintf("post-%d", i)] = job.Spec{Every: every, Missed: job.MissedAll, HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}}
	}
	c := Start(t, Config{Binary: binary, Replicas: 1, Jobs: jobs, Flags: idle})
	workers := []string{c.AddWorker("w1").Name, c.AddWorker("w2").Name}
	etcd := Dial(t, c.Endpoints())
	copies, late := 0, make(map[string]string) // orders that are copied again at the end
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Second)
	defer stop()
	for resp := range etcd.Watch(ctx, Prefix+"/queues/", clientv3.WithPrefix()) {
		for _, ev := range resp.Events {
			name, id, _ := strings.Cut(strings.TrimPrefix(string(ev.Kv.Key), Prefix+"/queues/"), "/")
			if ev.Type == clientv3.EventTypeDelete || strings.HasPrefix(id, "copy-") {
				continue
			}
			for _, w := range workers { // each copy has its own id; with the same id, the second would replace the first
				put(t, c, fmt.Sprintf("%s/queues/%s/copy-%s", Prefix, w, id), string(ev.Kv.Value))
				copies++
			}
			late[Prefix+"/queues/"+name+"/"+id] = string(ev.Kv.Value)
		}
	}
	for key, order := range late {
		put(t, c, key, order)
	}
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs of later orders run, more than were armed ahead", func() bool { return len(sink.Requests()) > asked+40 })
	if copies < 20 || len(sink.Requests()) < 40 {
		t.Errorf("%d copies of orders, %d requests: the load is too low", copies, len(sink.Requests()))
	}
	c.Check(func() []history.Effect { return append(sink.Requests(), ledger.Effects()...) }, nil, nil)
	for _, r := range c.Recorder.Runs("") {
		if r.LostAttempts() > 0 {
			t.Errorf("run %s was tried again: %+v", r.Name(), r.Attempts)
		}
	}
}
