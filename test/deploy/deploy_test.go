package deploy

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// tick is the job whose slots are counted: one each second, and each must run.
const (
	tick  = "tick"
	every = time.Second
)

func TestEverySlotRunsOnceWhileContainersDieAndArePartitioned(t *testing.T) {
	c := start(t, image(t))
	all := c.client()
	eventually(t, 2*time.Minute, "all replicas are healthy", c.healthy)
	begin := c.runs(all, time.Time{}, 5)

	killed := c.leader(all)
	c.kill(killed.Node)
	at := time.Now()
	survivors := c.client(others(killed.Node)...)
	eventually(t, 30*time.Second, "another replica leads", func() error {
		now, err := leader(survivors, t)
		if err == nil && now.Term <= killed.Term {
			err = fmt.Errorf("%s still leads in term %d", now.Node, now.Term)
		}
		return err
	})
	c.runs(survivors, at, 10)
	docker(t, "start", c.container(killed.Node))
	eventually(t, 2*time.Minute, "the killed replica is healthy again", c.healthy)

	off := c.leader(all).Node
	if off == killed.Node { // another node, so that two of three have a fault
		off = others(off)[0]
	}
	c.cut(off)
	at = time.Now()
	majority := c.client(others(off)...)
	eventually(t, 30*time.Second, "the replica that is cut off is not ready, and says so", func() error {
		if _, err := tryDocker("exec", c.container(off), "/rota", "health", "--ready"); err == nil {
			return errors.New("it is ready")
		}
		return nil
	})
	if _, err := tryDocker("exec", c.container(off), "/rota", "health"); err != nil {
		t.Errorf("the replica that is cut off should be alive: %v", err)
	}
	c.runs(majority, at, 15)
	eventually(t, time.Minute, "Docker finds the replica that is cut off unhealthy", func() error {
		if health := docker(t, "inspect", "--format", "{{.State.Health.Status}}", c.container(off)); health != "unhealthy" {
			return fmt.Errorf("it is %s", health)
		}
		return nil
	})
	c.mend(off)
	eventually(t, 2*time.Minute, "the replica that was cut off is healthy again", c.healthy)
	c.runs(all, time.Now(), 5)

	paused := time.Now()
	eventually(t, 20*time.Second, "the job is paused", func() error {
		_, err := all.PauseJob(t.Context(), tick, "the end")
		return err
	})
	eventually(t, time.Minute, "no run is left", func() error {
		list, err := all.Runs(t.Context(), client.RunFilter{Job: tick, States: []job.State{job.Pending, job.Armed, job.Running}}, "")
		if err == nil && len(list.Runs) > 0 {
			err = fmt.Errorf("%d runs have not ended, such as %s, %s: %s", len(list.Runs), list.Runs[0].Name(), list.Runs[0].State, list.Runs[0].Reason)
		}
		return err
	})
	c.checkSlots(all, begin, paused)
	for _, node := range nodes {
		eventually(t, time.Minute, "rota verify finds nothing on "+node, func() error {
			_, err := tryDocker("exec", c.container(node), "/rota", "verify", "--all-changes", "--endpoints", "http://127.0.0.1:2379")
			return err
		})
	}
}

// others returns the other nodes.
func others(node string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == node })
}

// leader returns the leader; an error if no replica leads.
func leader(cl *client.Client, t *testing.T) (api.LeaderView, error) {
	v, err := cl.Cluster(t.Context())
	switch {
	case err != nil:
		return api.LeaderView{}, err
	case v.Leader == nil:
		return api.LeaderView{}, errors.New("no replica leads")
	}
	return *v.Leader, nil
}

// leader waits until a replica leads, and returns it.
func (c *cluster) leader(cl *client.Client) (l api.LeaderView) {
	c.t.Helper()
	eventually(c.t, 30*time.Second, "a replica leads", func() (err error) {
		l, err = leader(cl, c.t)
		return err
	})
	return l
}

// runs waits until n runs of slots after at have succeeded, and returns the first slot of the job that has a run.
func (c *cluster) runs(cl *client.Client, at time.Time, n int) (first time.Time) {
	c.t.Helper()
	eventually(c.t, time.Minute, fmt.Sprintf("%d more slots have run", n), func() error {
		got := 0
		first = time.Time{}
		for r, err := range cl.AllRuns(c.t.Context(), client.RunFilter{Job: tick, Limit: 1000}) {
			if err != nil {
				return err
			}
			if first.IsZero() || r.Slot.Before(first) {
				first = r.Slot
			}
			if r.Slot.After(at) && r.State == job.Succeeded {
				got++
			}
		}
		if got < n {
			return fmt.Errorf("got %d, want %d", got, n)
		}
		return nil
	})
	return first
}

// checkSlots checks that every slot from the first to the pause has one run that succeeded by one attempt. Runs that were armed
// ahead at the pause are skipped.
func (c *cluster) checkSlots(cl *client.Client, first, paused time.Time) {
	c.t.Helper()
	runs := map[time.Time]api.RunView{}
	tokens := map[int64]string{}
	var last time.Time
	again := 0
	for r, err := range cl.AllRuns(c.t.Context(), client.RunFilter{Job: tick, Limit: 1000}) {
		if err != nil {
			c.t.Fatal(err)
		}
		if r.State == job.Skipped && r.Slot.After(paused) {
			continue
		}
		if before, ok := runs[r.Slot]; ok {
			c.t.Errorf("slot %s has two runs: %s and %s", r.ID, before.Name(), r.Name())
		}
		runs[r.Slot] = r
		if r.Slot.After(last) {
			last = r.Slot
		}
		if r.State != job.Succeeded {
			c.t.Errorf("run %s: got %s (%s), want succeeded", r.Name(), r.State, r.Reason)
		}
		again += len(r.Attempts) - 1
		well, token := 0, int64(0)
		for _, a := range r.Attempts {
			if a.State == job.Succeeded {
				well++
			}
			if a.Token == 0 { // the attempt was lost before it started
				continue
			}
			if a.Token <= token {
				c.t.Errorf("run %s: token %d of attempt %d is not above %d", r.Name(), a.Token, a.Number, token)
			}
			token = a.Token
			if other := tokens[a.Token]; other != "" {
				c.t.Errorf("runs %s and %s share token %d", r.Name(), other, a.Token)
			}
			tokens[a.Token] = r.Name()
		}
		if well != 1 {
			c.t.Errorf("run %s: got %d attempts that succeeded, want 1", r.Name(), well)
		}
	}
	missing := 0
	for slot := first; !slot.After(last); slot = slot.Add(every) {
		if _, ok := runs[slot]; !ok {
			missing++
			c.t.Errorf("slot %s has no run", job.SlotID(slot))
		}
	}
	c.t.Logf("%d slots from %s to %s: %d without a run, %d attempts more than runs", len(runs), job.SlotID(first), job.SlotID(last), missing, again)
}
