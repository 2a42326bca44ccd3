package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// runVersion is one version of a run's record.
type runVersion struct {
	Version
	run job.Run
}

// cursorVersion is one version of a cursor.
type cursorVersion struct {
	Version
	cursor job.Cursor
	byHand bool // the test wrote it by hand: see History.PutBack
}

// candidate is the life of one key in the election. It exists at revisions in [create, deleted).
type candidate struct {
	key     string
	create  int64
	deleted int64 // 0: it exists at the end
}

// definition is one version of a job's definition. It is in force at revisions in (rev, over).
type definition struct {
	rev  int64
	over int64 // revision of its replacement or removal; 0: none
	job  job.Job
}

// skip is a range of slots that was skipped with a reason.
type skip struct {
	from, to time.Time
	reason   string
	at       time.Time // by the leader's clock
	seen     time.Time
	rev      int64
	bad      string // why the evidence for the reason is missing; see refute
}

// timeline is a history whose versions are decoded and sorted by kind of record.
type timeline struct {
	History
	runs        map[string][]runVersion // by name, without deletions
	gone        map[string]int64        // revision of the deletion of runs, by name
	of          map[string][]string     // names of runs, by the job in their key and by the job in their record
	effects     map[string][]Effect     // by run
	effectsOn   map[string][]Effect     // by job
	cursors     map[string][]cursorVersion
	since       map[string]time.Time // from when on the slots of a job are due
	skips       map[string][]skip
	limits      map[string][]limitVersion // in the order of revisions
	workers     map[string][]registration // by name, in the order of revisions
	definitions map[string][]definition   // in the order of revisions
	expected    map[string]Job            // by name
	halts       []Halt                    // pauses in the store
	candidates  []candidate
	began       map[int64]time.Time // by term: when the recorder got the first write of its leader
	over        time.Time           // when recording ended
	found       []Violation
	decided     map[string][]time.Time // by job: the checked slots
	marks       map[string]Grade       // by run: the highest grade found
	slots       int                    // number of checked slots
	doubles     int                    // repeated effects that a fault explains
}

func newTimeline(h History) *timeline {
	h.Slack, h.Recovery = cmp.Or(h.Slack, DefaultSlack), cmp.Or(h.Recovery, DefaultRecovery)
	t := &timeline{
		History: h, runs: make(map[string][]runVersion), gone: make(map[string]int64),
		cursors: make(map[string][]cursorVersion), since: make(map[string]time.Time), skips: make(map[string][]skip),
		definitions: make(map[string][]definition), expected: make(map[string]Job),
		decided: make(map[string][]time.Time), marks: make(map[string]Grade), of: make(map[string][]string), limits: make(map[string][]limitVersion),
		began: make(map[int64]time.Time), effects: make(map[string][]Effect),
		effectsOn: make(map[string][]Effect), workers: make(map[string][]registration),
	}
	for _, e := range h.Effects {
		t.effects[e.Run] = append(t.effects[e.Run], e)
		t.effectsOn[e.Job] = append(t.effectsOn[e.Job], e)
	}
	for _, j := range h.Jobs {
		t.expected[j.Name] = j
	}
	for _, v := range h.Versions {
		rest, ok := strings.CutPrefix(v.Key, h.Prefix+"/")
		if !ok {
			continue
		}
		kind, name, _ := strings.Cut(rest, "/")
		if kind == "election" { // keys written by hand count too, because they count in the election
			t.stand(v)
			continue
		}
		if kind == "gate" { // keys written by hand count too
			t.addGate(v)
			continue
		}
		if h.ByHand[v.Key] || h.Hand[v.Rev] {
			continue
		}
		switch kind {
		case "runs":
			t.addRun(v, name)
		case "cursors":
			t.addCursor(v, name)
		case "jobs":
			t.addJob(v, name)
		case "events":
			t.addEvent(v)
		case "limits":
			t.addLimit(v, name)
		case "workers":
			t.addWorker(v, name)
		}
	}
	t.over = t.end()
	return t
}

// end returns when recording ended.
func (t *timeline) end() time.Time {
	over := t.Over
	if over.IsZero() && len(t.Versions) > 0 {
		over = t.Versions[len(t.Versions)-1].Seen
	}
	if !over.IsZero() {
		return over
	}
	for _, e := range t.Effects {
		over = job.Later(over, job.Later(e.Arrived, e.Ended))
	}
	return over
}

// halt records that a job, or all jobs if name is empty, is paused or resumed at an instant.
func (t *timeline) halt(name string, p *job.Pause, resumed, seen time.Time) {
	i := slices.IndexFunc(t.halts, func(h Halt) bool { return h.Job == name && h.Until.IsZero() })
	switch {
	case p != nil && i < 0:
		t.halts = append(t.halts, Halt{Job: name, From: p.At})
	case p == nil && i >= 0:
		if resumed.Before(t.halts[i].From) {
			resumed = seen
		}
		t.halts[i].Until = resumed
	}
}

func (t *timeline) addGate(v Version) {
	g := job.Gate{}
	if v.Deleted || json.Unmarshal(v.Value, &g) == nil {
		t.halt("", g.Paused, g.Since, v.Seen)
	}
}

func (t *timeline) stand(v Version) {
	i := slices.IndexFunc(t.candidates, func(c candidate) bool { return c.key == v.Key && c.deleted == 0 })
	switch {
	case i >= 0 && v.Deleted:
		t.candidates[i].deleted = v.Rev
	case i < 0 && !v.Deleted:
		t.candidates = append(t.candidates, candidate{key: v.Key, create: v.Create})
	}
}

func (t *timeline) addRun(v Version, name string) {
	before := t.runs[name]
	if v.Deleted {
		if n := len(before); n > 0 && !before[n-1].run.State.Terminal() {
			t.report(RuleUnfinished, name, "deleted while "+string(before[n-1].run.State)+at(v))
		}
		t.gone[name] = v.Rev
		return
	}
	r := job.Run{}
	if err := json.Unmarshal(v.Value, &r); err != nil {
		t.report(RuleTransition, name, "record is unreadable"+at(v)+": "+err.Error())
		return
	}
	if rev, gone := t.gone[name]; gone || len(before) > 0 && v.Create != before[0].Create {
		t.report(RuleRecreated, name, "created again"+at(v)+", had been deleted"+at(Version{Rev: rev}))
	}
	r.Rev = v.Rev
	if len(before) == 0 {
		t.of[r.Job] = append(t.of[r.Job], name)
		if key, _, _ := strings.Cut(name, "/"); key != r.Job {
			t.of[key] = append(t.of[key], name)
		}
	}
	t.runs[name] = append(before, runVersion{v, r})
	t.wrote(r.Term, v)
}

func (t *timeline) addCursor(v Version, name string) {
	if v.Deleted {
		return
	}
	c := job.Cursor{}
	if err := json.Unmarshal(v.Value, &c); err != nil {
		t.report(RuleCursor, name, "record is unreadable"+at(v)+": "+err.Error())
		return
	}
	again := t.PutBack[v.Key] && slices.ContainsFunc(t.cursors[name], func(o cursorVersion) bool { return bytes.Equal(o.Value, v.Value) })
	t.cursors[name] = append(t.cursors[name], cursorVersion{v, c, again})
	t.wrote(c.Term, v)
}

// wrote records that a leader wrote under a term, at this version or before.
func (t *timeline) wrote(term int64, v Version) {
	if _, known := t.began[term]; !known {
		t.began[term] = v.Seen
	}
}

func (t *timeline) addJob(v Version, name string) {
	if n := len(t.definitions[name]); n > 0 && t.definitions[name][n-1].over == 0 {
		t.definitions[name][n-1].over = v.Rev
	}
	j := job.Job{}
	if v.Deleted || json.Unmarshal(v.Value, &j) != nil {
		return
	}
	t.halt(name, j.Paused, j.Since, v.Seen)
	t.definitions[name] = append(t.definitions[name], definition{rev: v.Rev, job: j})
	if _, known := t.since[name]; !known {
		t.since[name] = j.Since
	}
}

func (t *timeline) addEvent(v Version) {
	e := job.Event{}
	if v.Deleted || json.Unmarshal(v.Value, &e) != nil || e.Kind != job.EventSkipped {
		return
	}
	t.skips[e.Job] = append(t.skips[e.Job], skip{from: e.From, to: e.To, reason: e.Reason, at: e.At, seen: v.Seen, rev: v.Rev})
}

// begins reports whether the version began an attempt. before are the earlier versions of the run.
func (v *runVersion) begins(before []runVersion) bool {
	n := len(before)
	return v.run.State == job.Running && (n == 0 || before[n-1].run.State != job.Running)
}

// runsOf yields the runs of a job with their versions.
func (t *timeline) runsOf(name string) iter.Seq2[string, []runVersion] {
	return func(yield func(string, []runVersion) bool) {
		for _, run := range t.of[name] {
			if !yield(run, t.runs[run]) {
				return
			}
		}
	}
}

// last returns the run's record at the end.
func last(vs []runVersion) job.Run { return vs[len(vs)-1].run }

// reigning returns the create revision of the oldest candidate just before rev; 0 if there was none.
func (t *timeline) reigning(rev int64) (oldest int64) {
	for _, c := range t.candidates {
		alive := c.create < rev && (c.deleted == 0 || c.deleted >= rev)
		if alive && (oldest == 0 || c.create < oldest) {
			oldest = c.create
		}
	}
	return oldest
}
