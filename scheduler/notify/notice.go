package notify

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Notice is one thing to report about a job.
type Notice struct {
	Job       string
	Rev       int64          // the revision of Run or Event
	Occasions []job.Occasion // what happened; each notifier gets the first that it wants
	Run       *job.Run       // nil for a range of slots
	Event     *job.Event     // a range of slots that were skipped; nil if Run is set
	Attempt   int            // the last attempt of Run that was given up and is not reported yet; 0: none
	After     string         // for a recovery: the run that failed before
	Failures  int            // how many runs in a row have failed; for a recovery, before it
	To        []Target
	Receipt   *Receipt
}

// Receipt is what the book needs once a notice is done. It does not hold the notice, so that many receipts need little memory.
type Receipt struct {
	page    *page
	rev     int64
	run     string // the ID of the run with the attempt; "": there is no attempt
	attempt int    // Notice.Attempt
	to      []delivery
	state   state // of the job once the notice is done
}

// delivery is the state of a notice at one of its targets.
type delivery struct {
	target string
	done   bool
}

// done reports whether the notice is done at all targets.
func (r *Receipt) done() bool {
	return !slices.ContainsFunc(r.to, func(d delivery) bool { return !d.done })
}

// Target is a notifier that gets a notice.
type Target struct {
	Name     string
	URL      string
	Template string       // of a webhook; "": none
	Occasion job.Occasion // "" for a ping
	Ping     *Signal      // what a ping reports; nil for a message
}

// at returns when it happened.
func (n *Notice) at() time.Time {
	if a := n.attempt(); a != nil && !n.Run.State.Terminal() {
		return a.Finished
	}
	if isStuck(n.Run) {
		return n.Run.Started.Add(n.Run.Bound.Std())
	}
	return n.Run.Ended()
}

// attempt returns the attempt that n reports, nil if there is none.
func (n *Notice) attempt() *job.Attempt {
	if n.Run == nil || n.Attempt == 0 {
		return nil
	}
	for i := range n.Run.Attempts {
		if a := &n.Run.Attempts[i]; a.Number == n.Attempt {
			return a
		}
	}
	return nil
}

// Schemes returns the schemes of notifier URLs. Each scheme belongs to a service. generic is a plain webhook. Its URL may
// contain a second scheme after a plus sign, as in generic+https://host/path.
func Schemes() []string {
	return []string{
		"bark", "discord", "generic", "googlechat", "gotify", "hangouts", "ifttt", "join", "lark", "matrix", "mattermost",
		"notifiarr", "ntfy", "opsgenie", "pagerduty", "pushbullet", "pushover", "rocketchat", "signal", "slack", "smtp",
		"teams", "telegram", "wecom", "zulip",
	}
}
