package sim

import (
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/test/history"
)

// harm is one kind of fault.
type harm struct {
	name  string
	share int                         // weight among the faults
	do    func(w *world, d dice) bool // false: there is no machine for it
}

// harms are all kinds of faults.
var harms = []harm{
	{"crash", 10, func(w *world, d dice) bool { return w.crash(d, w.anyone(d)) }},
	{"crash of the leader", 6, func(w *world, d dice) bool { return w.crash(d, w.leader()) }},
	{"graceful stop", 5, func(w *world, d dice) bool { return w.drain(d, w.anyone(d)) }},
	{"pause", 8, func(w *world, d dice) bool { return w.pause(d, w.anyone(d)) }},
	{"pause of the leader", 4, func(w *world, d dice) bool { return w.pause(d, w.leader()) }},
	{"link cut both ways", 6, func(w *world, d dice) bool { return w.cut(d, w.anyone(d)) }},
	{"link mute", 5, func(w *world, d dice) bool { return w.spoil(d, w.anyone(d), mute) }},
	{"link deaf", 5, func(w *world, d dice) bool { return w.spoil(d, w.anyone(d), deaf) }},
	{"link flaky", 5, func(w *world, d dice) bool { return w.spoil(d, w.anyone(d), flaky) }},
	{"watches stalled", 6, func(w *world, d dice) bool { return w.stall(d, w.anyone(d)) }},
	{"watches compacted", 5, compactWatches},
	{"history compacted", 5, compact},
	{"lease gone early", 5, expire},
	{"leases gone late", 4, extend},
	{"term ended by hand", 3, depose},
	{"clock set", 6, (*world).setClock},
	{"store full", 2, fill},
	{"no quorum", 3, (*world).outage},
}

// storm makes faults from now until end, with pauses of gap on average. It makes at least one: the first choice may be
// impossible here, and there may be no time for a second.
func (w *world) storm(end time.Time, gap time.Duration) {
	w.net.roughen(true)
	spared := true
	var next func()
	next = func() {
		if !time.Now().Before(end) {
			return
		}
		d := throw(w.plan.seed, "harm", time.Now().UnixNano())
		for made := w.harm(d); !made && spared; {
			made = w.harm(d)
		}
		spared = false
		w.at(aroundSlot(d, time.Now().Add(time.Duration(d.ExpFloat64()*float64(gap)))), next)
	}
	w.at(time.Now().Add(gap), next)
}

// harm makes the fault that d chooses, and reports whether that fault was possible.
func (w *world) harm(d dice) bool {
	total := 0
	for _, h := range harms {
		total += h.share
	}
	n := d.IntN(total)
	i := slices.IndexFunc(harms, func(h harm) bool { n -= h.share; return n < 0 })
	if !harms[i].do(w, d) {
		return false
	}
	w.log.Info("harm", "what", harms[i].name)
	w.tally.add("fault: " + harms[i].name)
	return true
}

// anyone returns a machine with a running process; nil if there is none.
func (w *world) anyone(d dice) *machine {
	var up []*machine
	for _, m := range w.machines {
		if m.process != nil {
			up = append(up, m)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return oneOf(d, up...)
}

// leader returns the machine whose process leads by its own status; nil if none does.
func (w *world) leader() *machine {
	for _, m := range w.machines {
		if m.process != nil && m.replica && m.process.leads() {
			return m
		}
	}
	return nil
}

func (w *world) crash(d dice, m *machine) bool {
	if m == nil {
		return false
	}
	m.kill()
	w.at(time.Now().Add(downtime(d)), m.start)
	return true
}

// downtime returns how long a machine is without a process.
func downtime(d dice) time.Duration {
	return d.upTo(oneOf(d, 300*time.Millisecond, 5*time.Second, 25*time.Second))
}

func (w *world) drain(d dice, m *machine) bool {
	if m == nil || m.process.ctx.Err() != nil {
		return false
	}
	p, asked := m.process, time.Now()
	m.resume()
	p.cancel()
	var poll func()
	poll = func() {
		switch {
		case m.process != p: // killed meanwhile
		case !p.ended():
			w.at(time.Now().Add(100*time.Millisecond), poll)
			return
		default:
			m.resume() // the machine may be paused, and the next process must not be
			m.process = nil
			w.at(time.Now().Add(downtime(d)), m.start)
		}
		w.fault(history.Fault{Kind: history.Drain, Node: m.name, At: asked.Add(shutdownGrace), Until: time.Now()})
	}
	w.at(time.Now(), poll)
	return true
}

func (w *world) pause(d dice, m *machine) bool {
	if m == nil || m.paused() {
		return false
	}
	p := m.process
	until := time.Now().Add(d.between(100*time.Millisecond, oneOf(d, 2*time.Second, 8*time.Second, 20*time.Second)))
	m.pause(until)
	w.fault(history.Fault{Kind: history.Pause, Node: m.name, At: time.Now(), Until: until})
	w.at(until, func() {
		if m.process == p {
			m.resume()
		}
	})
	return true
}

// outageOf records that a machine cannot reach the store. It calls undo at until.
func (w *world) outageOf(m *machine, until time.Time, undo func(c *clientv3.Client)) {
	w.fault(history.Fault{Kind: history.Outage, Node: m.name, At: time.Now(), Until: until})
	client := m.process.client
	w.at(until, func() { undo(client) })
}

func (w *world) cut(d dice, m *machine) bool {
	if m == nil {
		return false
	}
	p := m.process
	w.server.Cut(p.client)
	w.outageOf(m, time.Now().Add(outageTime(d)), func(c *clientv3.Client) {
		if !p.dead.Load() {
			w.server.Heal(c)
		}
	})
	return true
}

func outageTime(d dice) time.Duration {
	return d.between(200*time.Millisecond, oneOf(d, 3*time.Second, 8*time.Second, 25*time.Second))
}

func (w *world) spoil(d dice, m *machine, t trouble) bool {
	if m == nil || m.paused() {
		return false
	}
	until := time.Now().Add(outageTime(d))
	w.net.disturb(m.process.client, t, until)
	if t == deaf {
		w.server.StallWatches(m.process.client)
	}
	w.outageOf(m, until, func(c *clientv3.Client) {
		w.net.clear(c, until)
		w.server.ResumeWatches(c)
	})
	return true
}

func (w *world) stall(d dice, m *machine) bool {
	if m == nil || m.paused() {
		return false
	}
	client := m.process.client
	until := time.Now().Add(d.upTo(oneOf(d, 5*time.Second, 45*time.Second)))
	w.server.StallWatches(client)
	w.fault(history.Fault{Kind: history.Deaf, Node: m.name, At: time.Now(), Until: until, Delays: time.Second})
	w.at(until, func() { w.server.ResumeWatches(client) })
	return true
}
