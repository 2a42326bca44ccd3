package notify

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// cause is the trouble that one or more notices of a job are about. It lasts until a run of the job ends it. Meanwhile, a notifier
// gets one message, and further ones at least Notifier.RepeatEvery apart.
type cause string

const (
	noCause cause = ""
	failing cause = "failing" // runs fail, time out or are lost; a success ends it
	losing  cause = "losing"  // attempts are stuck or given up, and tried again; a success ends it
	missing cause = "missing" // slots are missed or late; a success in time ends it
)

// causeOf returns the cause of an occasion. r is the run of the notice, nil for a range of slots. A recovery has no cause.
func causeOf(o job.Occasion, r *job.Run) cause {
	switch {
	case o == job.OnFailure, o == job.OnLost && r != nil && r.State == job.Lost:
		return failing
	case o == job.OnLost, o == job.OnStuck:
		return losing
	case o == job.OnMissed, o == job.OnLate:
		return missing
	}
	return noCause
}

// state is what a Book remembers of a job between two notices. It changes with each run that ends, and is stored with the record.
type state struct {
	failing  string               // the run that failed last, if none has succeeded since
	failures int                  // how many runs in a row have failed
	said     map[string]time.Time // see job.NotifyState; never changed in place, because notices share it
}

// quiet reports whether no trouble lasts.
func (s state) quiet() bool { return s.failing == "" && len(s.said) == 0 }

// differs reports whether the next leader could not derive next from s and the history, because that may have lost runs. No
// notifier waits for more than most failures in a row.
func (s state) differs(next state, most int) bool {
	return !maps.EqualFunc(s.said, next.said, time.Time.Equal) || s.failures != next.failures && s.failures < most
}

// endBy ends the causes that a run ends. r is nil for a range of slots. late says that the run has not ended in time.
func (s *state) endBy(r *job.Run, late bool) {
	if r == nil || r.State != job.Succeeded || len(s.said) == 0 {
		return
	}
	left := maps.Clone(s.said)
	maps.DeleteFunc(left, func(key string, _ time.Time) bool {
		_, c, _ := strings.Cut(key, "/")
		return cause(c) != missing || !late
	})
	s.said = left
}

// say reports whether a notifier gets a message about a cause at an instant, and records that it does.
func (s *state) say(name string, to job.Notifier, c cause, at time.Time) bool {
	if c == failing && s.failures < to.FirstAt() {
		return false
	}
	key := name + "/" + string(c)
	if last, said := s.said[key]; said && at.Sub(last) < to.RepeatEvery() {
		return false
	}
	next := make(map[string]time.Time, len(s.said)+1)
	maps.Copy(next, s.said)
	next[key] = at.UTC()
	s.said = next
	return true
}

// address adds the notifiers that get n as targets. at is when it happened.
func (n *Notice) address(to job.Notify, s *state, at time.Time) {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		notifier := to[name]
		o, ok := notifier.Wants(n.Occasions)
		switch c := causeOf(o, n.Run); {
		case !ok:
			continue
		case c == noCause && n.Failures < notifier.FirstAt(), c != noCause && !s.say(name, notifier, c, at):
			continue
		}
		n.To = append(n.To, Target{Name: name, URL: notifier.URL, Template: notifier.Template, Occasion: o})
	}
}
