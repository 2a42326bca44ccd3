package notify

import (
	"fmt"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Signal is the content of a ping.
type Signal struct {
	Service job.PingService // "": job.Healthchecks
	State   job.PingState
	Run     string // name of the run; "" for a ping about the cluster
	Text    string // one line for people
}

// ping adds the ping about the run of n as a target. The start of a run has one ping, however many attempts the run has.
func (p *page) ping(n *Notice) {
	if n.Run == nil {
		return
	}
	to, state := p.job.Spec.Ping, n.Run.PingState()
	if n.Run.State.Terminal() {
		delete(p.begun, n.Run.ID)
	}
	if to == nil || state == "" || state == job.PingStart && p.begun[n.Run.ID] {
		return
	}
	if state == job.PingStart {
		if p.begun == nil {
			p.begun = make(map[string]bool)
		}
		p.begun[n.Run.ID] = true
		if n.Rev <= p.record.UpTo { // an earlier leader has sent it
			return
		}
	}
	text := fmt.Sprintf("run %s: %s", n.Run.Name(), n.Run.State)
	if n.Run.Reason != "" {
		text += ": " + n.Run.Reason
	}
	n.add(Target{
		Name: job.Pings, URL: to.URL, Ping: &Signal{Service: to.Service, State: state, Run: n.Run.Name(), Text: shorten(text)},
	})
}
