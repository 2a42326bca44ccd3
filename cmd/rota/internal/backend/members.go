package backend

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Calls observes which replicas answer.
type Calls interface {
	Answering() map[string]bool // the replicas that answer, with this one
	Uncalled() []string         // the replicas that are present in the store and were not called yet
	Outages() []job.Outage      // what this replica observed, oldest first
}

// Log has the latest events, oldest first.
type Log interface {
	Events() []*job.Event    // of the cluster
	JobEvents() []*job.Event // of jobs
	Changes() []*job.Audit   // by clients
}

// The states of a member.
const (
	memberPresent = "present"
	memberMissing = "missing"
	memberStopped = "stopped"
)

// forgetAfter is how long a replica without a member of etcd is expected after it was lost. A member of the embedded etcd is always
// expected.
const forgetAfter = 24 * time.Hour

// members returns the replicas that the cluster expects, sorted by name.
func (b *Backend) members(now time.Time) (list []api.MemberView) {
	answering, absent := b.calls.Answering(), b.absent()
	for _, name := range b.calls.Uncalled() {
		if _, ok := absent[name]; !ok {
			answering[name] = true
		}
	}
	names := b.memberNames()
	if len(names) == 0 {
		for name := range answering {
			names = append(names, name)
		}
		for name, o := range absent {
			if !answering[name] && o.Cause != job.OutageStopped && now.Sub(o.From) < forgetAfter {
				names = append(names, name)
			}
		}
		slices.Sort(names)
	}
	for _, name := range names {
		m := api.MemberView{Name: name, State: memberPresent}
		if !answering[name] {
			m.State = memberMissing
			if o, ok := absent[name]; ok {
				m.Since = o.From
				if o.Cause == job.OutageStopped {
					m.State = memberStopped
				}
			}
		}
		list = append(list, m)
	}
	return list
}

// absent returns the outages that have not ended, by replica. Records of the leader have priority over the observations of this
// replica, because several replicas contributed to it.
func (b *Backend) absent() map[string]job.Outage {
	open := map[string]job.Outage{}
	for _, o := range b.calls.Outages() {
		if o.Node != "" && o.Until.IsZero() {
			open[o.Node] = o
		}
	}
	for _, e := range b.log.Events() {
		if e.Kind == job.EventOutage && e.To.IsZero() {
			open[e.Node] = job.Outage{Node: e.Node, From: e.From, Cause: e.Cause}
		}
	}
	return open
}

// tolerated returns how many more members may be lost before the cluster stops dispatching; -1 if it has stopped, nil if unknown.
// quorate says that the store has just answered a linearizable read. Only a majority can answer it, so the majority is not lost,
// even if this replica has not heard of some members yet.
func (b *Backend) tolerated(members []api.MemberView, store *api.StoreView, quorate bool) *int {
	least := -1
	if quorate {
		least = 0
	}
	present := 0
	for _, m := range members {
		if m.State == memberPresent {
			present++
		}
	}
	if len(b.memberNames()) > 0 {
		return new(max(least, present-(max(len(members), b.voters())/2+1)))
	}
	n := present - 1
	if all := len(store.Members); all > 1 { // one endpoint may stand for several members
		n = min(n, all-len(store.Unavailable)-(all/2+1))
	}
	return new(max(least, n))
}
