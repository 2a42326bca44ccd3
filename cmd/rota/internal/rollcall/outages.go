package rollcall

import (
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// open returns the outage of a replica that has not ended; nil if it answers. The name "" stands for the leadership.
func (c *Calls) open(name string) *job.Outage {
	for i := range c.outages {
		if c.outages[i].Node == name && c.outages[i].Until.IsZero() {
			return &c.outages[i]
		}
	}
	return nil
}

// begin adds an outage, unless the replica has an open one. A cause that becomes known later is added.
func (c *Calls) begin(o job.Outage) {
	if p := c.open(o.Node); p != nil {
		if p.Cause == "" {
			p.Cause = o.Cause
		}
		return
	}
	c.outages = append(c.outages, o)
	for len(c.outages) > kept && c.drop() {
	}
}

// drop removes the oldest outage that has ended. If none has, it removes the oldest one of a replica that is not present in the
// store. It does not call that replica any more, because the name may never return. Without such a replica, drop returns false.
func (c *Calls) drop() bool {
	i := slices.IndexFunc(c.outages, func(o job.Outage) bool { return !o.Until.IsZero() })
	if i < 0 {
		i = slices.IndexFunc(c.outages, func(o job.Outage) bool { return o.Node != "" && !c.peers[o.Node].present() })
		if i < 0 {
			return false
		}
		c.peers[c.outages[i].Node].gone = true
	}
	c.outages = slices.Delete(c.outages, i, i+1)
	return true
}

// present reports whether the replica is present in the store, and does not stop.
func (p *peer) present() bool { return p.listed && p.leaving.IsZero() }

func (c *Calls) end(name string, at time.Time) {
	if o := c.open(name); o != nil {
		o.Until = at
	}
}
