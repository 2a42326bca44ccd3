package network

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// timetable has the lengths of the parts of Jepsen's test of Chronos.
type timetable struct {
	submit    time.Duration // jobs are submitted for this long, from the start
	calm      time.Duration // time before the partition, from the start
	partition time.Duration
	quiet     time.Duration // from the last submission to the final read
	every     time.Duration // between two submissions, on average
	ahead     time.Duration // from a submission to its job's start
	spread    int           // range of the random parts of epsilons and intervals, in seconds
	lasts     int           // longest run, in seconds
}

// schedule returns Jepsen's own timetable if ROTA_JEPSEN_SECONDS is 450, and otherwise a shorter or longer one.
func schedule(t *testing.T) timetable {
	t.Helper()
	seconds := 60
	if os.Getenv("ROTA_FAULTS") == "rest" {
		seconds = 30
	}
	if s := os.Getenv("ROTA_JEPSEN_SECONDS"); s != "" {
		var err error
		if seconds, err = strconv.Atoi(s); err != nil || seconds < 30 {
			t.Fatalf("ROTA_JEPSEN_SECONDS=%s: write for how many seconds jobs are submitted, at least 30", s)
		}
	}
	share := func(of450 int) time.Duration { return time.Duration(of450*seconds) * time.Second / 450 }
	p := timetable{
		submit: share(450), calm: share(200), partition: share(200), quiet: share(400),
		every: 3 * time.Second, ahead: 10 * time.Second, spread: 30, lasts: 10,
	}
	switch { // the same number of targets in less time
	case seconds < 60:
		// Intervals are 16 to 18 s. The first target is some time after the start, and the last one 16 s before the read.
		p.calm, p.partition, p.quiet = 10*time.Second, 15*time.Second, 30*time.Second
		p.every, p.ahead, p.spread, p.lasts = 500*time.Millisecond, 3*time.Second, 1, 3
	case seconds < 200:
		p.calm, p.partition, p.quiet = 20*time.Second, 25*time.Second, 20*time.Second
		p.every, p.ahead, p.spread = 500*time.Millisecond, 3*time.Second, 5
	}
	return p
}

// TestJepsen is Jepsen's test of Chronos: random jobs on five hosts and a partition into random halves. Every run that was due
// must have an execution.
func TestJepsen(t *testing.T) {
	rng := seeded(t)
	plan := schedule(t)
	lab := New(t, "q1", "q2", "q3", "q4", "q5")
	diaries := NewDiaries(t, lab)
	c := cluster.StartOn(t, cluster.Config{Binary: rota, Jobs: map[string]job.Spec{}}, cluster.Place{Hosts: lab.Hosts()})
	s := &submitter{t: t, c: c, plan: plan, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), diaries: diaries}
	began := time.Now()
	submitted := make(chan struct{})
	go func() { // the test waits for it below
		defer close(submitted)
		s.run(began.Add(plan.submit))
	}()

	// Jepsen's timetable: jobs are submitted without a fault first.
	time.Sleep(time.Until(began.Add(plan.calm)))
	p := halve(t, rng, lab, c)
	// Jepsen's timetable: the length of the partition.
	time.Sleep(time.Until(p.from.Add(plan.partition)))
	p.heal(c)
	<-submitted
	// Jepsen's timetable: the last runs need time to end before the final read.
	time.Sleep(time.Until(began.Add(plan.submit + plan.quiet)))
	for _, n := range c.Replicas() {
		if text, ok := ready(t, n); !ok {
			t.Errorf("%s is not ready in the end: %s", n.Name, text)
		}
	}
	read := time.Now()
	entries := diaries.read()
	c.Quiesce()
	s.resolve()
	s.match(entries, read, p)
	s.judge()
}

// partition is a split into two halves; the smaller one has no quorum.
type partition struct {
	minority []string
	from, to time.Time
	cut      *Cut
	leader   string // the leader at its start
}

func halve(t *testing.T, rng *rand.Rand, lab *Lab, c *cluster.Cluster) *partition {
	t.Helper()
	hosts := lab.Others()
	rng.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	p := &partition{minority: hosts[:len(hosts)/2], leader: c.Leader().Name}
	p.from = time.Now()
	p.cut = lab.Split(p.minority, hosts[len(hosts)/2:])
	for _, h := range p.minority {
		c.Harm(history.Fault{Kind: history.Outage, Node: h, At: p.from})
	}
	side := "larger"
	if slices.Contains(p.minority, p.leader) {
		side = "smaller"
	}
	t.Logf("the leader, %s, is in the %s half", p.leader, side)
	for _, n := range c.Replicas() {
		if slices.Contains(p.minority, n.Name) {
			awaitUnready(t, n, 5*time.Second)
		}
	}
	return p
}

func (p *partition) heal(c *cluster.Cluster) {
	p.cut.Heal()
	c.WaitReady()
	p.to = time.Now()
	for _, h := range p.minority {
		c.Heal(h)
	}
}

// submitter submits random jobs through random replicas.
type submitter struct {
	t       *testing.T
	c       *cluster.Cluster
	plan    timetable
	rng     *rand.Rand
	diaries *Diaries

	jobs []submission // owned by run until it returns
}

type submission struct {
	Chronos
	spec  job.Spec
	taken bool  // a replica accepted it, or the store has it
	err   error // the answer of the replica
}

// run submits jobs until an instant.
func (s *submitter) run(until time.Time) {
	for i := 0; time.Now().Before(until); i++ {
		sub := s.makeUp(fmt.Sprintf("chronos-%03d", i))
		through := s.c.Replicas()[s.rng.IntN(len(s.c.Replicas()))]
		_, _, sub.err = through.Client.PutJob(s.t.Context(), sub.Name, sub.spec, api.Precondition{Absent: true})
		sub.taken = sub.err == nil
		s.jobs = append(s.jobs, sub)
		// Jepsen's timetable: the rate of submissions, with jitter.
		time.Sleep(s.plan.every/2 + time.Duration(s.rng.Int64N(int64(s.plan.every))))
	}
}

// makeUp returns a random job, made as in Jepsen's test.
func (s *submitter) makeUp(name string) submission {
	c := Chronos{
		Name: name, Start: time.Now().Truncate(time.Second).Add(s.plan.ahead), Count: 1 + s.rng.IntN(99),
		Epsilon: time.Duration(10+s.rng.IntN(max(2*s.plan.spread/3, 1))) * time.Second, Duration: time.Duration(s.rng.IntN(s.plan.lasts)) * time.Second,
	}
	c.Interval = time.Second + c.Duration + c.Epsilon + forgiveness + time.Duration(s.rng.IntN(s.plan.spread))*time.Second
	every := int64(c.Interval)
	end := time.Unix(0, ((c.Start.UnixNano()+every-1)/every+int64(c.Count))*every).UTC()
	start := c.Start.UTC()
	return submission{Chronos: c, spec: job.Spec{
		Every: job.Duration(c.Interval), Start: &start, End: &end, Missed: job.MissedAll, Shell: s.diaries.Shell(c.Duration),
		Timeout: job.Duration(time.Minute), KillGrace: job.Duration(time.Second),
	}}
}

// resolve checks in the store which submissions without an answer were accepted.
func (s *submitter) resolve() {
	refused, late := 0, 0
	for i := range s.jobs {
		sub := &s.jobs[i]
		if sub.taken {
			continue
		}
		if sub.taken = len(s.c.Recorder.VersionsOf("jobs/"+sub.Name)) > 0; sub.taken {
			late++
		} else {
			refused++
		}
	}
	s.t.Logf("%d jobs submitted: %d taken, %d more though no replica said so, %d not", len(s.jobs), len(s.jobs)-late-refused, late, refused)
}

// match checks, by the diaries alone, that every due run has an execution and that there are no other executions.
func (s *submitter) match(entries map[string][]entry, read time.Time, p *partition) {
	s.t.Helper()
	targets, missed, extra, incomplete, again := 0, 0, 0, 0, 0
	known := make(map[string]bool)
	for _, sub := range s.jobs {
		if !sub.taken {
			continue
		}
		known[sub.Name] = true
		var executions []Execution
		for _, e := range entries[sub.Name] {
			executions = append(executions, e.Execution)
		}
		f := sub.fitting(executions, read)
		targets, incomplete = targets+f.targets, incomplete+f.incomplete
		for _, w := range f.missed {
			missed++
			s.broken(history.RuleMissed, sub.Name, fmt.Sprintf("nothing that ended began from %s to %s", w.From.UTC().Format(time.TimeOnly), w.To.UTC().Format(time.TimeOnly)))
		}
		for _, e := range f.extra {
			if p.explains(e, executions) {
				again++
				continue
			}
			extra++
			s.broken(history.RuleExtra, sub.Name, fmt.Sprintf("one execution too many: %+v", e))
		}
	}
	for name := range entries {
		if !known[name] {
			s.broken(history.RuleExtra, name, "it was executed, and was not taken")
		}
	}
	s.t.Logf("targets %d, missed %d, extra %d, begun and not ended %d, executed again after the partition had cost the first its worker %d",
		targets, missed, extra, incomplete, again)
	if targets < len(s.jobs) {
		s.t.Errorf("%d targets of %d jobs: the load was too low", targets, len(s.jobs))
	}
}

// broken fails the test for a violation.
func (s *submitter) broken(rule, what, text string) {
	s.t.Helper()
	cluster.Broken(s.t, history.Violation{Rule: rule, What: what, Text: text})
}

// explains reports whether the partition explains a second execution of a run: one of the two was on a host that could not
// report its end.
func (p *partition) explains(e Execution, executions []Execution) bool {
	cutOff := func(x Execution) bool {
		return slices.Contains(p.minority, x.Host) && x.Began.Before(p.to) && x.Ended.After(p.from.Add(-history.DefaultSlack))
	}
	return slices.ContainsFunc(executions, func(x Execution) bool {
		return x.Run == e.Run && x != e && (cutOff(x) || cutOff(e))
	})
}

// judge compares the store with the diaries, as all other tests do.
func (s *submitter) judge() {
	s.t.Helper()
	specs := make(map[string]job.Spec)
	var effects []history.Effect
	entries := s.diaries.read()
	for _, sub := range s.jobs {
		if sub.taken {
			specs[sub.Name] = sub.spec
		}
		for _, e := range entries[sub.Name] {
			effects = append(effects, e.effect)
		}
	}
	h := history.History{
		Prefix: cluster.Prefix, Versions: s.c.Recorder.Versions(), Effects: effects, Faults: s.c.Faults(),
		Jobs: cluster.Expectations(specs, nil),
	}
	v := history.Judge(h)
	for _, found := range v.Violations {
		s.t.Errorf("%v", found)
	}
	cluster.Keep(s.t, h, v)
	s.t.Logf("judged: %d slots, %d runs, %d attempts, %d executions, of which %d twice because of the partition; %d violations",
		v.Slots, v.Runs, v.Attempts, len(effects), v.Doubles, len(v.Violations))
	verified, code := cluster.Command(s.t, rota, "verify", "--all-changes", "--endpoints="+strings.Join(s.c.Endpoints(), ","))
	if code != 0 {
		s.t.Errorf("rota verify ended with %d: %s", code, verified)
	}
}
