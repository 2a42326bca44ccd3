package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Incident is a time of trouble, and its summary.
type Incident struct {
	From      time.Time `json:"from"`
	Until     time.Time `json:"until,omitzero" doc:"Absent while the incident lasts"`
	Sentences []string  `json:"sentences" doc:"The events, and the things left to do; times are UTC"`
}

// Members says how many members the cluster expects, and how it stands now.
type Members struct {
	Expected, Present int
	Tolerated         int // how many more may be lost; -1: the majority is lost
}

// How troubles belong together, and how long an incident has effects on runs.
const (
	apart     = 30 * time.Second // troubles that are further apart are two incidents
	aftermath = time.Minute

	// stopped is how long the stop of a replica is a trouble. A replica that is stopped for longer may have left the cluster, so
	// it must not make an incident last for ever.
	stopped = time.Hour
)

// trouble is one interval of an incident. A zero until means that it lasts.
type trouble struct{ from, until time.Time }

// troublesOf returns all troubles, oldest first.
func troublesOf(f Facts) (all []trouble) {
	for _, e := range f.Cluster {
		switch {
		case e.Kind == job.EventOutage:
			until := e.To
			if e.Cause == job.OutageStopped && cmp.Or(until, f.Now).Sub(e.From) > stopped {
				until = e.From.Add(stopped)
			}
			all = append(all, trouble{e.From, until})
		case e.Kind == job.EventLeader && !e.From.IsZero() && e.At.Sub(e.From) >= time.Second:
			all = append(all, trouble{e.From, e.At})
		case e.Kind == job.EventLeader && e.Previous != "":
			all = append(all, trouble{e.At, e.At})
		}
	}
	if !f.Leaderless.IsZero() {
		all = append(all, trouble{from: f.Leaderless})
	}
	for _, r := range f.Runs {
		for _, a := range r.Attempts {
			if a.State == job.Lost {
				all = append(all, trouble{a.Finished, a.Finished})
			}
		}
		if r.State == job.Skipped && isMissed(r.Reason) && f.unled(r.Slot, r.Finished) {
			all = append(all, trouble{r.Slot, r.Finished})
		}
	}
	for _, e := range f.Events {
		switch {
		case e.Kind != job.EventSkipped || !isMissed(e.Reason):
		case f.unled(e.From, e.At):
			all = append(all, trouble{e.From, e.At})
		default:
			all = append(all, trouble{job.Later(e.From, e.At.Add(-aftermath)), e.At})
		}
	}
	slices.SortFunc(all, func(a, b trouble) int { return a.from.Compare(b.from) })
	return all
}

// Incidents returns all incidents, oldest first, without their sentences. Troubles that are close together are one incident.
func Incidents(f Facts) (list []Incident) {
	for _, t := range troublesOf(f) {
		if n := len(list); n > 0 && (list[n-1].Until.IsZero() || t.from.Sub(list[n-1].Until) < apart) {
			last := &list[n-1]
			if t.until.IsZero() || last.Until.IsZero() {
				last.Until = time.Time{}
			} else {
				last.Until = job.Later(last.Until, t.until)
			}
			continue
		}
		list = append(list, Incident{From: t.from, Until: t.until})
	}
	return list
}

// Describe summarizes the incident at an instant. If there was none, it summarizes the last one before it; false if there is none
// either.
func Describe(f Facts, m Members, at time.Time) (Incident, bool) {
	var found *Incident
	all := Incidents(f)
	for i := range all {
		if all[i].From.Add(-apart).Before(at) {
			found = &all[i]
		}
	}
	if found == nil {
		return Incident{}, false
	}
	t := teller{Facts: f, Incident: *found, members: m}
	t.tellOutages()
	t.tellLeaderless()
	t.tellMajority()
	t.tellRuns()
	t.tellMembers()
	return t.Incident, true
}

// teller writes the sentences of one incident.
type teller struct {
	Facts
	Incident
	members Members
}

func (t *teller) say(parts ...string) { t.Sentences = append(t.Sentences, strings.Join(parts, "")+".") }

// within reports whether an instant belongs to the incident, give or take its aftermath.
func (t *teller) within(at time.Time, after time.Duration) bool {
	return !at.Before(t.From) && !at.After(cmp.Or(t.Until, t.Now).Add(after))
}

// clock formats an instant. The date is added if the incident began on another day.
func (t *teller) clock(at time.Time) string {
	const day = time.DateOnly
	if at = at.UTC(); at.Format(day) != t.From.UTC().Format(day) {
		return at.Format("2006-01-02 15:04:05Z")
	}
	return at.Format("15:04:05Z")
}

// outages returns the outages of the incident, in the order of their begin.
func (t *teller) outages() (list []*job.Event) {
	for _, e := range t.Cluster {
		if e.Kind == job.EventOutage && t.within(e.From, 0) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *job.Event) int { return a.From.Compare(b.From) })
	return list
}

// takeovers returns the terms that began during the incident.
func (t *teller) takeovers() (list []*job.Event) {
	for _, e := range t.Cluster {
		if e.Kind == job.EventLeader && t.within(e.At, time.Second) {
			list = append(list, e)
		}
	}
	return list
}

// handover is how long before its own end a leader that stops in good order may hand its term over.
const handover = 2 * time.Second

// causeOf returns the outage because of which a term began: the last one of the leader before it; nil if there was none. An outage
// that was over long before, or before that leader won its last term, is no cause.
func (t *teller) causeOf(term *job.Event) (cause *job.Event) {
	won := t.wonBefore(term)
	for _, o := range t.outages() {
		from := o.From
		if o.Cause == job.OutageStopped {
			from = from.Add(-handover)
		}
		over := !o.To.IsZero() && cmp.Or(term.From, term.At).Sub(o.To) > apart
		over = over || !o.To.IsZero() && o.To.Before(won)
		if o.Node == term.Previous && !from.After(term.At) && !over {
			cause = o
		}
	}
	return cause
}

// wonBefore returns when the leader before a term had won; zero if that is not known.
func (t *teller) wonBefore(term *job.Event) (won time.Time) {
	for _, e := range t.Cluster {
		if e.Kind == job.EventLeader && e.Node == term.Previous && e.At.Before(term.At) {
			won = job.Later(won, e.At)
		}
	}
	return won
}

func (t *teller) tellOutages() {
	told := map[string]bool{}
	for _, o := range t.outages() {
		text := o.Node + " has not answered since " + t.clock(o.From)
		switch {
		case o.Cause != "":
			text = began(o) + " at " + t.clock(o.From)
			if !o.To.IsZero() {
				text += ", and was back at " + t.clock(o.To)
			}
		case !o.To.IsZero():
			text = o.Node + " did not answer from " + t.clock(o.From) + " to " + t.clock(o.To)
		}
		for _, e := range t.takeovers() {
			if told[e.ID] || t.causeOf(e) != o {
				continue
			}
			told[e.ID] = true
			switch took := e.At.Sub(o.From); {
			case e.Node == o.Node:
				text += "; it leads again since " + t.clock(e.At)
			case took < time.Second && o.Cause == job.OutageDead:
				text += "; " + e.Node + " took over in " + span(took)
			case took < time.Second:
				text += "; " + e.Node + " took over within a second"
			default:
				text += "; " + e.Node + " took over at " + t.clock(e.At) + ", " + span(took) + " later"
			}
			break
		}
		t.say(text)
	}
	for _, e := range t.takeovers() {
		if told[e.ID] || e.Previous == "" {
			continue
		}
		if e.Node == e.Previous {
			t.say(e.Node, " leads again since ", t.clock(e.At))
			continue
		}
		t.say(e.Node, " took over from ", e.Previous, " at ", t.clock(e.At))
	}
}

func (t *teller) tellMembers() {
	m := t.members
	if m.Expected == 0 {
		return
	}
	text := "All " + counted(m.Expected, "member") + " are present"
	switch {
	case m.Expected == 1:
		text = "The only member is present"
	case m.Present < m.Expected:
		text = fmt.Sprintf("%d of %d members are present", m.Present, m.Expected)
	}
	switch {
	case m.Tolerated < 0:
		text += ", fewer than the majority"
	case m.Tolerated == 0 && m.Expected > 1:
		text += "; no further loss is tolerated"
	}
	t.say(text)
}
