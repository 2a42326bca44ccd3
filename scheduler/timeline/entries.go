package timeline

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Facts holds the records from which the timeline is made.
type Facts struct {
	Cluster []*job.Event // of the cluster, oldest first
	Events  []*job.Event // of jobs
	Runs    []*job.Run
	Jobs    []*job.Job   // those that are paused, at least
	Changes []*job.Audit // by clients, oldest first; the oldest may be missing
	Gate    job.Gate
	Files   job.Files
	// Leaderless is since when this replica sees no leader; zero: it sees one, or it never saw one.
	Leaderless time.Time
	Now        time.Time
}

// Entry is one line of the timeline.
type Entry struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind" enum:"leader,lost_member,member,retried,failed,lost,late,missed,skipped,fenced,changed"`
	Text  string    `json:"text" doc:"One sentence"`
	Job   string    `json:"job,omitempty"`
	Run   string    `json:"run,omitempty"`
	Node  string    `json:"node,omitempty"`
	By    string    `json:"by,omitempty" doc:"The person behind a change"`
	From  time.Time `json:"from,omitzero" doc:"The first slot of a range, or the begin of an outage"`
	To    time.Time `json:"to,omitzero" doc:"The last slot of a range, or the end of an outage"`
	Count int       `json:"count,omitempty" doc:"Slots in the range"`
}

// The kinds of entries.
const (
	KindLeader     = "leader"      // a replica took over
	KindLostMember = "lost_member" // a replica stopped answering
	KindMember     = "member"      // it answers again
	KindRetried    = "retried"     // an attempt was lost or failed, and its run goes on
	KindFailed     = "failed"      // a run failed or timed out
	KindLost       = "lost"        // a run was lost
	KindLate       = "late"        // a run began late
	KindMissed     = "missed"      // slots passed while nobody could dispatch them
	KindSkipped    = "skipped"     // slots were skipped for another reason
	KindFenced     = "fenced"      // an outcome came too late and had no effect
	KindChanged    = "changed"     // a person changed something
)

// Entries returns what happened, oldest first.
func Entries(f Facts, q Query) []Entry {
	l := latest{Query: q}
	for _, e := range f.Cluster {
		l.add(ofCluster(e)...)
	}
	for _, e := range f.Events {
		l.add(ofEvent(e)...)
	}
	for _, r := range f.Runs {
		if l.may(r) {
			l.add(ofRun(r)...)
			l.add(changesOfRun(r)...)
		}
	}
	l.add(changesOf(f)...)
	return l.sorted()
}

// Ranges returns the ranges of slots without runs, oldest first.
func Ranges(events []*job.Event, q Query) []Entry {
	l := latest{Query: q}
	for _, e := range events {
		if e.Kind == job.EventSkipped {
			l.add(ofEvent(e)...)
		}
	}
	return l.sorted()
}

func ofCluster(e *job.Event) (list []Entry) {
	switch e.Kind {
	case job.EventLeader:
		text := e.Node + " leads."
		if e.Previous != "" {
			text = fmt.Sprintf("%s took over from %s.", e.Node, e.Previous)
		}
		if e.Previous == e.Node {
			text = e.Node + " leads again."
		}
		if gap := e.At.Sub(e.From); !e.From.IsZero() && gap >= time.Second {
			text += fmt.Sprintf(" Nobody led for %s.", span(gap))
		}
		return []Entry{{At: e.At, Kind: KindLeader, Node: e.Node, Text: text, From: e.From}}
	case job.EventOutage:
		list = append(list, Entry{At: e.From, Kind: KindLostMember, Node: e.Node, Text: began(e) + ".", From: e.From, To: e.To})
		if !e.To.IsZero() {
			text := fmt.Sprintf("%s answers again after %s.", e.Node, span(e.To.Sub(e.From)))
			list = append(list, Entry{At: e.To, Kind: KindMember, Node: e.Node, Text: text})
		}
	}
	return list
}

// began says how an outage began, without its time.
func began(e *job.Event) string {
	switch e.Cause {
	case job.OutageDead:
		return e.Node + " died"
	case job.OutageStopped:
		return e.Node + " was stopped"
	}
	return e.Node + " fell silent"
}

func ofEvent(e *job.Event) []Entry {
	switch e.Kind {
	case job.EventSkipped:
		slots := counted(e.Count, "slot")
		if e.Partial {
			slots = "at least " + slots
		}
		return []Entry{{
			At: e.At, Kind: skipKind(e.Reason), Job: e.Job, From: e.From, To: e.To, Count: e.Count,
			Text: fmt.Sprintf("%s of %s did not run: %s.", slots, e.Job, e.Reason),
		}}
	case job.EventLate:
		return []Entry{{
			At: e.At, Kind: KindLate, Job: e.Job, Run: e.Run, From: e.From, To: e.To, Count: e.Count,
			Text: fmt.Sprintf("%s is late: %s.", e.Run, e.Reason),
		}}
	case job.EventFenced:
		what := "came too late and had no effect"
		if strings.Contains(e.Reason, job.FateForgotten) {
			what = "was refused, and its run is gone"
		}
		return []Entry{{
			At: e.At, Kind: KindFenced, Job: e.Job, Run: e.Run, Node: e.Worker,
			Text: fmt.Sprintf("The outcome of attempt %d of %s %s.", e.Attempt, e.Run, what),
		}}
	}
	return nil
}

func isMissed(reason string) bool { return strings.HasPrefix(reason, "missed") }

func skipKind(reason string) string {
	if isMissed(reason) {
		return KindMissed
	}
	return KindSkipped
}

// Tells reports whether the timeline or a summary of an incident may name a run. Most runs succeed on time at the first attempt.
func Tells(r *job.Run) bool {
	switch r.State {
	case job.Failed, job.TimedOut, job.Lost, job.Skipped:
		return true
	case job.Succeeded, job.Canceled:
		return r.Late || len(r.Attempts) > 1 || submitted(r) || r.Cancel != nil || r.Approval != nil
	}
	return true
}

// ofRun returns the entries of a run. Their times are those of the leaders' clocks.
func ofRun(r *job.Run) (list []Entry) {
	add := func(at time.Time, kind, text string, args ...any) {
		list = append(list, Entry{At: at, Kind: kind, Job: r.Job, Run: r.Name(), Text: fmt.Sprintf(text, args...)})
	}
	last := len(r.Attempts) - 1
	for i, a := range r.Attempts {
		if a.State != job.Succeeded && a.State != job.Canceled && (i < last || !r.State.Terminal()) {
			_, ended := r.Span(i)
			add(ended, KindRetried, "Attempt %d of %s on %s was %s and is repeated%s.",
				a.Number, r.Name(), a.Worker, worded(a.State), because(a.Reason))
		}
	}
	if started := firstStart(r); r.Late && !started.IsZero() {
		add(started, KindLate, "%s began %s late.", r.Name(), span(started.Sub(r.Slot)))
	}
	switch r.State {
	case job.Failed, job.TimedOut:
		add(r.Ended(), KindFailed, "%s %s%s.", r.Name(), strings.ReplaceAll(string(r.State), "_", " "), because(r.Reason))
	case job.Lost:
		add(r.Ended(), KindLost, "%s is lost%s.", r.Name(), because(r.Reason))
	case job.Skipped:
		add(r.Ended(), skipKind(r.Reason), "%s did not run%s.", r.Name(), because(r.Reason))
	}
	return list
}

func worded(s job.State) string {
	switch s {
	case job.Failed:
		return "without success"
	case job.TimedOut:
		return "too slow"
	}
	return string(s)
}

// firstStart returns when the first attempt of a run began, by the clocks of the leaders; zero if none has.
func firstStart(r *job.Run) time.Time {
	if len(r.Attempts) == 0 && r.State != job.Running {
		return r.Started
	}
	return r.FirstBegan()
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimRight(reason, ".")
}

// span formats a duration for people, to three figures.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	}
	return d.Round(time.Second).String()
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
