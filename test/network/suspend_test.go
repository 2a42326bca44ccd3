package network

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// TestSuspensions suspends the machines of one, two and three replicas, as a move of virtual machines does. The processes of jobs are
// suspended with them.
func TestSuspensions(t *testing.T) {
	rng := seeded(t)
	lab := New(t, "q1", "q2", "q3")
	s := open(t, rng, lab, cluster.Place{Hosts: lab.Hosts()})
	s.row("one machine", func(t *testing.T) { s.suspend(t, 1) })
	if all() {
		s.row("two machines", func(t *testing.T) { s.suspend(t, 2) })
		s.row("three machines", func(t *testing.T) { s.suspend(t, 3) })
	}
	s.close()
	s.killed()
}

// suspend suspends the machine of the leader, and those of followers until there are n, for longer than leases last. With n of two or
// three the store has no quorum.
func (s *scene) suspend(t *testing.T, n int) {
	leader := s.leaderApart(t)
	machines := []*cluster.Node{leader}
	for _, r := range s.c.Replicas() {
		if r != leader && len(machines) < n {
			machines = append(machines, r)
		}
	}
	s.works(t, leader)
	var over func()
	if n > 1 {
		over = s.c.Outage()
	}
	began := time.Now()
	for _, m := range machines {
		m.Stop()
		s.lab.Host(m.Name).signal(t, syscall.SIGSTOP)
	}
	if n == 1 {
		s.goesOn(t, began, 3*lease)
	}
	before := len(s.effects())
	// The length of the suspension is the fault. There is no condition to poll.
	time.Sleep(time.Until(began.Add(lasting(2*lease, 75*time.Second))))
	if now := len(s.effects()); n == 3 && now > before {
		t.Errorf("%d executions while all machines were suspended: the fault took no effect", now-before)
	}
	for _, m := range machines {
		s.lab.Host(m.Name).signal(t, syscall.SIGCONT)
		m.Cont()
	}
	resumed := time.Now()
	s.c.WaitReady()
	t.Logf("all are ready %v after the suspension", time.Since(resumed).Round(10*time.Millisecond))
	if over != nil {
		over()
	}
}

// works waits until a worker is at work on a command that lasts longer than a lease. A run is claimed before its command begins.
func (s *scene) works(t *testing.T, worker *cluster.Node) {
	t.Helper()
	cluster.Await(t, 20*time.Second, worker.Name+" has begun a long command", func() bool {
		for _, run := range s.c.Recorder.Runs("") {
			lasts := time.Since(run.Started)
			if strings.HasPrefix(run.Job, working) && run.Worker == worker.Name && run.State == job.Running &&
				time.Second < lasts && lasts < 3*time.Second {
				return true
			}
		}
		return false
	})
}

// goesOn waits until a slot runs that was due more than a lease after a fault began. It does not ask the recorder, which may be
// connected to a member that hangs.
func (s *scene) goesOn(t *testing.T, began time.Time, limit time.Duration) {
	t.Helper()
	cluster.Await(t, limit, "slots run again", func() bool {
		return slices.ContainsFunc(s.effects(), func(e history.Effect) bool {
			_, id, _ := strings.Cut(e.Run, "/")
			slot, err := time.Parse(time.RFC3339, id)
			return err == nil && slot.Sub(began) > lease
		})
	})
	t.Logf("a slot after the fault runs %v after its begin", time.Since(began).Round(10*time.Millisecond))
}

// signal sends a signal to all processes of the host. With SIGSTOP, it stops those that they start meanwhile, too.
func (h *Host) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	var before []string
	for range 100 {
		now := strings.Fields(inhabitants(h.namespace))
		for _, pid := range now {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, sig) // it may have ended
			}
		}
		if sig != syscall.SIGSTOP || slices.Equal(now, before) {
			return
		}
		before = now
	}
	t.Fatalf("the processes of %s start others all the time", h.Name)
}
