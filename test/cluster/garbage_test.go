package cluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// garbage has values that people or later versions of rota may write in place of a record, each with a name.
var garbage = map[string]string{
	"noise":  "\xff\xfe{\"name\":",
	"empty":  "",
	"huge":   `{"name":"` + strings.Repeat("x", 1<<20) + `"}`,
	"future": `{"version":99}`,
	"other":  `[{"kind":"Pod","spec":{"state":"running"}}]`,
}

// TestGarbageUnderEveryKey writes garbage under a key of each family. No replica ends, everything else continues on time, the
// keys are reported, and deleting them heals.
func TestGarbageUnderEveryKey(t *testing.T) {
	slow(t)
	t.Parallel()
	sink := NewSink(t)
	jobs := sink.Posts(10, job.Spec{})
	c := Start(t, Config{Binary: binary, Jobs: jobs})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 20 })
	pids := make(map[string]int)
	for _, n := range c.Replicas() {
		pids[n.Name] = n.PID()
	}
	calm := len(sink.Requests())
	leader, term := c.Leader(), termOf(c)

	byHand := make(map[string]bool)
	for what, value := range garbage {
		for _, key := range namedKeys("q1", "post-1", "bad-"+what) {
			byHand[Prefix+"/"+key] = true
			put(t, c, Prefix+"/"+key, value)
		}
	}
	_, single := store.Kinds()
	for _, kind := range single {
		key := string(kind)
		byHand[Prefix+"/"+key] = true
		for what := range garbage { // the last garbage stays
			if what != "noise" {
				put(t, c, Prefix+"/"+key, garbage[what])
				Let(200 * time.Millisecond)
			}
		}
		put(t, c, Prefix+"/"+key, garbage["noise"])
	}
	if out, code := Command(t, binary, "etcdctl", "--endpoints="+c.Replicas()[0].Etcd, "put", Prefix+"/jobs/by-command", "nonsense"); code != 0 {
		t.Errorf("rota etcdctl put ended with %d: %s", code, out)
	}
	byHand[Prefix+"/jobs/by-command"] = true

	Let(4 * time.Second)
	for _, n := range c.Replicas() {
		if !n.Running() || n.PID() != pids[n.Name] {
			t.Fatalf("%s ended", n.Name)
		}
		var unnamed []string
		if !Within(10*time.Second, func() bool {
			unnamed = nil
			named := quarantined(t, n)
			for _, key := range sortedKeys(byHand) {
				// A candidate without a lease blocks the election only when it is first in the queue. Rota removes it then.
				election := strings.HasPrefix(key, Prefix+"/election/")
				if !named[key] && !election && stands(t, c, key) {
					unnamed = append(unnamed, key)
				}
			}
			return len(unnamed) == 0
		}) {
			t.Errorf("%s does not name %d keys:\n\t%s", n.Name, len(unnamed), strings.Join(unnamed, "\n\t"))
		}
	}
	if now := c.Leader(); now != leader || termOf(c) != term {
		t.Errorf("leadership went from %s (term %d) to %s (term %d)", leader.Name, term, now.Name, termOf(c))
	}

	// A new leader is elected although there is garbage among the candidates.
	put(t, c, Prefix+"/election/bad-again", "noise")
	byHand[Prefix+"/election/bad-again"] = true
	fell := time.Now()
	leader.Terminate()
	next := c.Leader()
	t.Logf("%s leads %v after %s was asked to stop", next.Name, time.Since(fell).Round(10*time.Millisecond), leader.Name)
	leader.Start()
	leader.WaitReady()

	for key := range byHand {
		remove(t, c, key)
	}
	for _, n := range c.Replicas() {
		if !Within(10*time.Second, func() bool { return len(quarantined(t, n)) == 0 }) {
			t.Errorf("%s still names keys that are gone: %v", n.Name, sortedKeys(quarantined(t, n)))
		}
	}
	asked := len(sink.Requests())
	Await(t, 10*time.Second, "jobs run after the cure", func() bool { return len(sink.Requests()) > asked+20 })
	c.Check(sink.Requests, byHand, nil)
	for _, e := range sink.Requests()[calm:] {
		slot, err := time.Parse(time.RFC3339, e.Run[len(e.Job)+1:])
		if d := e.Arrived.Sub(slot); err == nil && d > 3*time.Second {
			t.Errorf("%s was executed %v after its slot", e.Run, d.Round(time.Millisecond))
		}
	}
}

// namedKeys returns keys of every family, without the prefix. Some belong to worker and job, which exist, and others to name,
// which does not.
func namedKeys(worker, job, name string) (keys []string) {
	many, _ := store.Kinds()
	for _, kind := range many {
		family := string(kind) + "/"
		switch kind {
		case store.KindRuns:
			keys = append(keys, family+name+"/2026-01-01T00:00:00Z", family+job+"/"+name)
		case store.KindQueues:
			keys = append(keys, family+worker+"/"+name, family+"nobody/"+name)
		case store.KindEvents:
			keys = append(keys, family+job+"/"+name)
		default:
			keys = append(keys, family+name)
		}
	}
	return append(keys, "unknown/"+name, name)
}

// quarantined returns the keys that a replica reports as unreadable.
func quarantined(t *testing.T, n *Node) map[string]bool {
	t.Helper()
	var v api.ClusterView
	Await(t, 10*time.Second, n.Name+" answers", func() (ok bool) {
		var err error
		v, err = n.Client.Cluster(t.Context())
		return err == nil
	})
	keys := make(map[string]bool)
	for _, q := range v.Quarantined {
		keys[q.Key] = true
		if q.Error == "" {
			t.Errorf("%s does not say what is wrong with %s", n.Name, q.Key)
		}
	}
	return keys
}

func sortedKeys(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func put(t *testing.T, c *Cluster, key, value string) {
	t.Helper()
	var err error
	if !Within(10*time.Second, func() bool { // a member may be stopped at that moment
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = c.Recorder.client.Put(ctx, key, value)
		return err == nil
	}) {
		t.Fatalf("put %s: %v", key, err)
	}
}

func remove(t *testing.T, c *Cluster, key string) {
	t.Helper()
	var err error
	if !Within(10*time.Second, func() bool { // etcd rejects writes while its leadership moves
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = c.Recorder.client.Delete(ctx, key)
		return err == nil
	}) {
		t.Fatalf("delete %s: %v", key, err)
	}
}

// stands reports whether a key still exists. Rota itself removes a key that blocks it.
func stands(t *testing.T, c *Cluster, key string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	resp, err := c.Recorder.client.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return len(resp.Kvs) > 0
}
