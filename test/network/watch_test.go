package network

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// deadConnections makes all connections of one replica to the store carry nothing, without ending them. New ones would carry
// data.
func (s *storeScene) deadConnections(t *testing.T) {
	victim := s.scene.follower(s.c.Leader())
	over := s.outage(victim.Name)
	open := 0
	for _, p := range s.etcd.Proxies[victim.Name] {
		open += p.Hold(false)
	}
	if open == 0 {
		t.Fatal("the replica had no connection: the fault cannot take effect")
	}
	t.Logf("fault: %d connections of %s are dead", open, victim.Name)
	awaitUnready(t, victim, 5*time.Second)
	s.mark(t, victim, time.Minute)
	held := 0
	for _, p := range s.etcd.Proxies[victim.Name] {
		held += p.Release()
	}
	if t.Logf("healed: %d pieces of data were held back", held); held == 0 {
		t.Error("nothing was held back: the fault took no effect")
	}
	victim.WaitReady()
	over()
}

// compactedAway makes the links between one replica and the store carry nothing. It compacts the changes of that time and then
// breaks the links, so that the watch cannot resume.
func (s *storeScene) compactedAway(t *testing.T) {
	victim := s.scene.follower(s.c.Leader())
	over := s.outage(victim.Name)
	relists := victim.Metric("rota_store_relists_total")
	began := time.Now()
	for _, p := range s.etcd.Proxies[victim.Name] {
		p.Hold(true)
	}
	t.Logf("fault: %s has links to the store that carry nothing", victim.Name)
	awaitUnready(t, victim, 5*time.Second)
	// Readiness tolerates a silent watch for 8 s. The replica must stay unready for longer. There is no condition to poll.
	time.Sleep(time.Until(began.Add(lasting(12*time.Second, 30*time.Second))))
	if text, ok := ready(t, victim); ok || !strings.Contains(text, "[-]watch") {
		t.Errorf("%s has been deaf for %v and says of itself: %s", victim.Name, time.Since(began).Round(time.Second), text)
	}
	s.c.Recorder.Sync()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := s.etcd.clients[0].Compact(ctx, s.c.Recorder.Rev()); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.etcd.Proxies[victim.Name] {
		p.Break()
	}
	s.mark(t, victim, time.Minute)
	victim.WaitReady()
	over()
	if now := victim.Metric("rota_store_relists_total"); now <= relists {
		t.Errorf("%s has listed again %v times, as often as before: the fault took no effect", victim.Name, now)
	}
	if !strings.Contains(victim.Log(), "compacted") {
		t.Errorf("%s does not report a compaction: the fault took no effect", victim.Name)
	}
}

// mark changes a record and waits until a replica shows the change. Before that, the replica must have reported that it is not
// ready.
func (s *storeScene) mark(t *testing.T, victim *cluster.Node, limit time.Duration) {
	t.Helper()
	changed := time.Now()
	text := changed.Format(time.RFC3339Nano)
	other := s.c.Leader()
	if _, _, err := other.Client.PutJob(t.Context(), "mark", job.Spec{Description: text, Command: []string{"true"}}, api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	unready := false
	cluster.Await(t, limit, victim.Name+" knows what has changed", func() bool {
		if _, ok := ready(t, victim); !ok {
			unready = true
		}
		v, err := victim.Client.Job(t.Context(), "mark")
		return err == nil && v.Spec.Description == text
	})
	t.Logf("%s knows what has changed after %v", victim.Name, time.Since(changed).Round(10*time.Millisecond))
	if !unready && time.Since(changed) > lease {
		t.Errorf("%s never said that it was not ready", victim.Name)
	}
}
