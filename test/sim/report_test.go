package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// suspect records that a job or a run has a violation.
func (w *world) suspect(what string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(what, "cursor "), "/")
	if !slices.Contains(w.suspects, name) {
		w.suspects = append(w.suspects, name)
	}
}

// tell prints the records of the jobs with a violation.
func (w *world) tell() {
	for _, name := range w.suspects {
		w.tellJob(name)
		w.tellLeader(name)
	}
	var b strings.Builder
	for _, f := range w.faults {
		fmt.Fprintf(&b, "%s until %s %s of %s\n", clockTime(f.At), clockTime(f.Until), f.Kind, f.Node)
	}
	w.t.Logf("faults in the history:\n%s", b.String())
}

// tellJob prints all records of a job.
func (w *world) tellJob(name string) {
	var b strings.Builder
	for _, v := range w.recorder.history() {
		key := strings.TrimPrefix(v.Key, prefix+"/")
		_, of, _ := strings.Cut(key, "/")
		if of, _, _ = strings.Cut(of, "/"); of != name && key != "gate" && !strings.HasPrefix(key, "limits/") {
			continue
		}
		value := string(v.Value)
		if v.Deleted {
			value = "deleted"
		}
		fmt.Fprintf(&b, "%s %6d %s %s\n", clockTime(v.Seen), v.Rev, key, value)
	}
	for _, e := range w.ledger.executions() {
		if e.Job == name {
			fmt.Fprintf(&b, "%s executed on %s: %s attempt %d token %d until %s\n", clockTime(e.Arrived), e.process.machine.name, e.Run,
				e.Attempt, e.Token, clockTime(e.over))
		}
	}
	w.t.Logf("%s, from %s\n%s", name, w.plan.began.Format(time.RFC3339), b.String())
}

// tellLeader prints what the leader knows about a job.
func (w *world) tellLeader(name string) {
	m := w.leader()
	if m == nil {
		w.t.Log("no replica leads")
		return
	}
	j, _ := m.process.mirror.Job(name)
	c, _ := m.process.mirror.Cursor(name)
	rev, heard := m.process.mirror.Current()
	w.t.Logf("%s leads, knows all up to %d (the store is at %d) as of %v, status %+v: job %+v, cursor %+v", m.name, rev, w.server.Rev(), heard,
		m.process.scheduler.Status(), j, c)
}
