package terminal

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// TestTop drives rota top with keys: every list, sorting, a filter, the way into a run and back, and each change. The changes are
// then looked for in the cluster.
func TestTop(t *testing.T) {
	c := start(t)
	s := newScreen(t, 120, 30, nil, binary, "top", "--server", c.Replicas()[0].URL)
	s.await("the jobs", "[1 Jobs]", "tick", "bad", "long", "3/3 members", "leader q")

	s.keys("2")
	s.await("the runs", "[2 Runs]", "tick/2")
	s.keys("3")
	s.await("the workers", "[3 Workers]", "q1", "q2", "q3")
	s.keys("Enter")
	s.await("the runs of a worker", "runs on q")
	s.keys("Escape")
	s.await("back to the workers", "[3 Workers]", "!runs on")
	s.keys("4")
	s.await("the limits", "[4 Limits]", "database")
	s.keys("Tab")
	s.await("the first list again", "[1 Jobs]")
	s.keys("?")
	s.await("the help", "filter: text")
	s.keys("q") // any key ends the help
	s.await("the jobs behind the help", "!filter: text", "tick")
	s.keys("BTab")
	s.await("the last list", "[4 Limits]")
	s.keys("1")
	s.await("the first list once more", "[1 Jobs]")
	s.sorts()
	s.moves()

	s.keys("/", "lon", "Enter")
	s.await("the filter", "/lon", "long  ")
	if text := s.text(); strings.Contains(text, "tick") || strings.Contains(text, "bad ") {
		t.Errorf("the filter leaves other jobs:\n%s", text)
	}
	s.keys("r")
	s.await("a question", "long", "y")
	s.keys("n")
	s.await("the answer no", "Nothing was changed.")
	if runs := runsOf(t, c, "long"); len(runs) != 0 {
		t.Fatalf("a refused question made a run: %v", runs)
	}
	s.keys("r", "y")
	cluster.Await(t, 20*time.Second, "r runs the job", func() bool { return len(runsOf(t, c, "long")) == 1 })
	s.keys("Enter")
	s.await("the runs of the job", "› long", "running")
	s.keys("Enter")
	s.await("the run with its output", "attempt 1", "begun")
	s.keys("c", "y")
	cluster.Await(t, 20*time.Second, "c cancels the run", func() bool {
		runs := runsOf(t, c, "long")
		return len(runs) == 1 && runs[0] == job.Canceled
	})
	s.await("the end of the run", "canceled, ended by SIGTERM")
	s.keys("t")
	s.await("a question about the retry", "Retry run long/")
	s.keys("y")
	cluster.Await(t, 20*time.Second, "t retries the run", func() bool { return len(runsOf(t, c, "long")) == 2 })
	s.keys("Escape")
	s.await("the runs of the job again", "› long", "!attempt 1")
	s.keys("Escape")
	s.await("the filtered jobs again", "!› long", "/lon")
	s.keys("Escape")
	s.await("all jobs again", "!/lon", "tick")

	s.keys("/", "tick", "Enter")
	s.await("the filter", "/tick")
	s.keys("p", "y")
	cluster.Await(t, 20*time.Second, "p pauses the job", func() bool { return paused(t, c, "tick") })
	s.await("the mark", "paused")
	s.keys("p", "y")
	cluster.Await(t, 20*time.Second, "p resumes the job", func() bool { return !paused(t, c, "tick") })
	s.keys("q")
	cluster.Await(t, 10*time.Second, "q ends it", s.dead)
}

// sorts turns the order of the jobs, sorts them by another column, and goes back to the order of names.
func (s *screen) sorts() {
	s.t.Helper()
	ordered := func(names ...string) {
		s.t.Helper()
		pattern := regexp.MustCompile(`(?s)` + strings.Join(names, ` .*\n.*`) + ` `)
		var last string
		if !cluster.Within(20*time.Second, func() bool { last = s.text(); return pattern.MatchString(last) }) {
			s.t.Fatalf("the jobs are not in the order %v:\n%s", names, last)
		}
	}
	ordered("bad", "long", "tick")
	s.keys("S")
	ordered("tick", "long", "bad")
	s.keys("s") // by the state: tick alone has runs
	s.keys("S")
	s.keys("Tab", "1")
	ordered("bad", "long", "tick")
}

// moves goes to each job, by each key that moves the selection, into the list of its runs, and back by each key that goes back.
func (s *screen) moves() {
	s.t.Helper()
	back := []string{"Escape", "Left", "BSpace"}
	for i, way := range []struct{ move, enter, job string }{
		{"G", "Enter", "tick"}, {"g", "Right", "bad"}, {"Down", "Enter", "long"}, {"j", "Enter", "tick"}, {"Up", "Enter", "long"},
		{"k", "Enter", "bad"}, {"End", "Right", "tick"}, {"Home", "Enter", "bad"}, {"NPage", "Enter", "tick"},
		{"PPage", "Enter", "bad"}, {"Space", "Enter", "tick"},
	} {
		s.keys(way.move, way.enter)
		s.await(way.move+" and "+way.enter, "› "+way.job)
		s.keys(back[i%len(back)])
		s.await(back[i%len(back)], "!› ", "[1 Jobs]")
	}
}

// TestTopOnANarrowTerminal uses a terminal that is narrower than the table, and resizes it.
func TestTopOnANarrowTerminal(t *testing.T) {
	c := start(t)
	s := newScreen(t, 40, 12, nil, binary, "top", "--server", c.Replicas()[0].URL)
	for _, size := range [][2]string{{"40", "12"}, {"20", "6"}, {"150", "40"}} {
		s.tmux("resize-window", "-x", size[0], "-y", size[1])
		s.await("the jobs at "+strings.Join(size[:], "x"), "bad", "long")
	}
	s.keys("C-c")
	cluster.Await(t, 10*time.Second, "Ctrl-C ends it", s.dead)
}

// TestTopSurvivesTheLeader kills the leader, which top was asked to use. Top goes on with another replica and shows the next leader.
// Then the majority is lost, and then every replica: top says so, and that what it shows is old.
func TestTopSurvivesTheLeader(t *testing.T) {
	ledger := cluster.NewLedger(t)
	c := cluster.Start(t, cluster.Config{Binary: binary, Jobs: map[string]job.Spec{
		"tick": {Every: job.Duration(time.Second), Shell: ledger.Shell("true"), Missed: job.MissedAll, MissedLimit: 1000},
	}})
	leader := c.Leader()
	s := newScreen(t, 140, 30, nil, binary, "top", "--server", leader.URL)
	s.await("the leader", "leader "+leader.Name, "via "+strings.TrimPrefix(leader.URL, "http://"))
	leader.Kill()
	var next *cluster.Node
	cluster.Await(t, 30*time.Second, "another leader", func() bool {
		next = c.Leader()
		return next != nil && next != leader
	})
	s.await("the next leader, by another replica", "leader "+next.Name, "2/3 members")
	if text := s.text(); strings.Contains(text, "note:") {
		t.Errorf("a note disturbs the screen:\n%s", text)
	}
	next.Stop()
	s.await("the lost majority", "has not heard from the store for")
	next.Cont()
	for _, r := range c.Replicas() {
		if r != leader {
			r.Kill()
		}
	}
	s.await("no replica", "Old, of ", "tick")
	for _, r := range c.Replicas() {
		r.Start()
	}
	c.WaitReady()
	s.await("all again", "3/3 members")
	c.Check(ledger.Effects, nil, nil)
}

// TestWatch follows a list in a terminal while a job is paused.
func TestWatch(t *testing.T) {
	c := start(t)
	s := newScreen(t, 120, 30, nil, binary, "jobs", "--watch", "--server", c.Replicas()[0].URL)
	s.await("the list", "NAME", "tick", "bad", "long")
	if _, err := c.Client.PauseJob(t.Context(), "bad", "holiday"); err != nil {
		t.Fatal(err)
	}
	s.await("the change", "paused")
	s.keys("C-c")
	cluster.Await(t, 10*time.Second, "Ctrl-C ends it", s.dead)
}

func runsOf(t *testing.T, c *cluster.Cluster, name string) (states []job.State) {
	t.Helper()
	list, err := c.Client.Runs(t.Context(), client.RunFilter{Job: name, Limit: 10}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Runs {
		states = append(states, list.Runs[i].State)
	}
	return states
}

func paused(t *testing.T, c *cluster.Cluster, name string) bool {
	t.Helper()
	v, err := c.Client.Job(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return v.Job.Paused != nil
}
