package network

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

const (
	lease = 5 * time.Second // the default of election.ttl
	// takeoverTime is the longest time without a leader after a partition: the lease of the old leader, on a busy machine. If
	// etcd elects too, it then gives all leases their full TTL, and this time starts again.
	takeoverTime = 2 * lease
	loadRate     = 44 // jobs, each due every second

	// Jobs whose runs last longer than a lease, so that a partitioned worker has runs to end: two at a time on each of three
	// workers.
	working     = "work-"
	workingJobs = 3
)

// scene is a cluster under load in a lab. The rows of a test make one fault after the other.
type scene struct {
	t      *testing.T
	rng    *rand.Rand
	lab    *Lab
	c      *cluster.Cluster
	sink   *cluster.Sink
	ledger *cluster.Ledger
	began  time.Time
}

// open starts a cluster with load at a place in a lab, with an external etcd if there are endpoints.
func open(t *testing.T, rng *rand.Rand, lab *Lab, place cluster.Place, etcd ...string) *scene {
	t.Helper()
	return openWith(t, rng, lab, place, cluster.Config{Etcd: etcd})
}

// openWith does the same as open, with a configuration that gets the jobs.
func openWith(t *testing.T, rng *rand.Rand, lab *Lab, place cluster.Place, cfg cluster.Config) *scene {
	t.Helper()
	s := &scene{t: t, rng: rng, lab: lab, sink: cluster.NewSinkAt(t, lab.Gateway), ledger: cluster.NewLedger(t)}
	jobs := s.load()
	if len(cfg.Etcd) == 0 { // a partitioned replica reaches no store
		for i := range workingJobs {
			jobs[fmt.Sprintf("%s%d", working, i)] = job.Spec{
				Every: job.Duration(4 * time.Second), Missed: job.MissedAll, Overlap: job.OverlapAllow, Shell: s.ledger.Working(8 * time.Second),
				Timeout: job.Duration(30 * time.Second), KillGrace: job.Duration(time.Second),
			}
		}
	}
	post := &job.HTTP{URL: s.sink.URL(), Method: "POST"}
	jobs[cluster.ClientsSubmit], jobs[cluster.ClientsPause] = job.Spec{HTTP: post, Overlap: job.OverlapAllow}, job.Spec{HTTP: post}
	cfg.Binary, cfg.Jobs = rota, jobs
	s.c = cluster.StartOn(t, cfg, place)
	s.began = time.Now()
	cluster.Await(t, 20*time.Second, "jobs run", func() bool { return len(s.sink.Requests()) > 2*loadRate })
	return s
}

// load returns the jobs that run all the time, besides the requests of clients: each job is due every second, and each slot
// runs once.
func (s *scene) load() map[string]job.Spec {
	jobs := make(map[string]job.Spec)
	for i := range loadRate {
		spec := job.Spec{Every: job.Duration(time.Second), Missed: job.MissedAll, Timeout: job.Duration(30 * time.Second)}
		switch {
		case i < 4:
			spec.Shell = s.ledger.Shell("sleep 0.3")
		default:
			spec.HTTP = &job.HTTP{URL: s.sink.URL(), Method: "POST"}
		}
		if i%2 == 1 {
			spec.Overlap = job.OverlapAllow
		}
		jobs[fmt.Sprintf("each-%02d", i)] = spec
	}
	return jobs
}

// row makes one fault. Between two faults the cluster is healthy and dispatches on time.
func (s *scene) row(name string, harm func(t *testing.T)) {
	s.t.Helper()
	if s.t.Failed() {
		return // after a failure, further faults prove nothing
	}
	s.t.Run(name, func(t *testing.T) {
		before := len(s.effects())
		began := time.Now()
		// The fault comes at a random phase of the second. There is no condition to poll.
		time.Sleep(time.Duration(s.rng.Int64N(int64(time.Second))))
		harm(t)
		s.c.WaitReady()
		s.awaitCaughtUp(t)
		took := time.Since(began)
		n := len(s.effects()) - before
		t.Logf("%d executions in %v", n, took.Round(100*time.Millisecond))
		if n < loadRate/2*int(took.Seconds()) {
			t.Errorf("%d executions in %v: the load was too low", n, took)
		}
	})
}

// awaitCaughtUp waits until slots are decided on time. A job whose run takes a third of the interval needs nearly as long for
// this as dispatching had stopped.
func (s *scene) awaitCaughtUp(t *testing.T) {
	t.Helper()
	cluster.Await(t, 3*time.Minute, "slots are decided as they come", func() bool {
		for name := range s.load() {
			vs := s.c.Recorder.VersionsOf("cursors/" + name)
			if len(vs) == 0 {
				return false
			}
			var cursor job.Cursor
			if json.Unmarshal(vs[len(vs)-1].Value, &cursor) != nil || time.Since(cursor.After) > 2*time.Second {
				return false
			}
		}
		return true
	})
}

// close waits until all runs have ended and judges the records.
func (s *scene) close() {
	s.t.Helper()
	until := time.Now() // Check pauses all jobs
	s.c.Check(s.effects, nil, nil)
	s.counted(until)
	took := time.Since(s.began)
	if n := len(s.c.Recorder.Runs("")); n < loadRate/2*int(took.Seconds()) {
		s.t.Errorf("%d runs in %v: the load was too low", n, took)
	}
}

func (s *scene) effects() []history.Effect { return append(s.sink.Requests(), s.ledger.Effects()...) }

// outage records that hosts cannot reach a quorum of the store, until the returned function is called.
func (s *scene) outage(hosts ...string) (over func()) {
	for _, h := range hosts {
		s.c.Harm(history.Fault{Kind: history.Outage, Node: h, At: time.Now()})
	}
	return func() {
		for _, h := range hosts {
			s.c.Heal(h)
		}
	}
}

// takeover waits until another replica leads and dispatches. since is the time of the old leader's fault. Before takeover
// returns, the old leader must report that it does not lead.
func (s *scene) takeover(t *testing.T, old *cluster.Node, since time.Time, limit time.Duration) (next *cluster.Node) {
	t.Helper()
	before := s.term()
	cluster.Await(t, limit, "another replica leads in place of "+old.Name, func() bool {
		i := slices.IndexFunc(s.c.Replicas(), func(n *cluster.Node) bool { return n != old && n.Leads() })
		if i < 0 {
			return false
		}
		if old.Leads() {
			t.Errorf("%s says that it leads after %s has begun to", old.Name, s.c.Replicas()[i].Name)
		}
		next = s.c.Replicas()[i]
		return true
	})
	took := time.Since(since)
	cluster.Await(t, lease, next.Name+" dispatches", func() bool { return s.term() > before })
	t.Logf("%s leads %v after %s was harmed, and dispatches after %v", next.Name, took.Round(10*time.Millisecond), old.Name,
		time.Since(since).Round(10*time.Millisecond))
	return next
}

// term returns the latest term in which a slot was decided.
func (s *scene) term() (term int64) {
	for name := range s.load() {
		vs := s.c.Recorder.VersionsOf("cursors/" + name)
		if len(vs) == 0 {
			continue
		}
		var cursor job.Cursor
		if json.Unmarshal(vs[len(vs)-1].Value, &cursor) == nil {
			term = max(term, cursor.Term)
		}
	}
	return term
}

// termsSince lists the terms in which slots were decided after an instant.
func (s *scene) termsSince(since time.Time) (terms []int64) {
	for _, v := range s.c.Recorder.Versions() {
		var cursor job.Cursor
		if v.Seen.Before(since) || !strings.HasPrefix(v.Key, cluster.Prefix+"/cursors/") || json.Unmarshal(v.Value, &cursor) != nil {
			continue
		}
		if !slices.Contains(terms, cursor.Term) {
			terms = append(terms, cursor.Term)
		}
	}
	return terms
}

// steady waits while a fault lasts. It fails the test if the leader loses its term.
func (s *scene) steady(t *testing.T, leader *cluster.Node, d time.Duration) {
	t.Helper()
	since, term := time.Now(), s.term()
	// The leader must keep its term for the whole time. There is no condition to poll.
	time.Sleep(d)
	s.c.Recorder.Sync()
	if terms := s.termsSince(since); len(terms) != 1 || terms[0] != term {
		t.Errorf("terms in which slots were decided: got %d, want only the term of %s, %d", terms, leader.Name, term)
	}
	if !leader.Leads() {
		t.Errorf("%s does not lead any more", leader.Name)
	}
}

// ready returns a replica's answer about its readiness.
func ready(t *testing.T, n *cluster.Node) (text string, ok bool) {
	t.Helper()
	text, ok, err := n.Client.Ready(t.Context())
	if err != nil {
		return err.Error(), false
	}
	return text, ok
}

// awaitUnready waits until a replica reports that it is not ready.
func awaitUnready(t *testing.T, n *cluster.Node, limit time.Duration) {
	t.Helper()
	began, said := time.Now(), ""
	cluster.Await(t, limit, n.Name+" says that it is not ready", func() bool {
		text, ok := ready(t, n)
		said = text
		return !ok
	})
	t.Logf("%s is not ready after %v: %s", n.Name, time.Since(began).Round(10*time.Millisecond), strings.ReplaceAll(said, "\n", "; "))
}
