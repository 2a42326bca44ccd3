package sim

import (
	"context"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/test/history"
)

func compactWatches(w *world, d dice) bool {
	m := w.anyone(d)
	if m == nil {
		return false
	}
	w.server.CompactWatches(m.process.client)
	return true
}

// compact compacts the history up to the present revision or a slightly earlier one.
func compact(w *world, d dice) bool {
	rev := w.server.Rev() - int64(oneOf(d, 0, 0, 1, d.IntN(50)))
	_, err := w.recorder.client.Compact(context.Background(), max(1, rev))
	return err == nil
}

// expire ends a lease early, as a confused leader of etcd does.
func expire(w *world, d dice) bool {
	keys := w.recorder.leased(oneOf(d, "workers/", "workers/", "replicas/", "election/"))
	if len(keys) == 0 {
		return false
	}
	key := oneOf(d, keys...)
	if w.server.ExpireLease(w.recorder.lease(key)) != nil {
		return false
	}
	if name, ok := strings.CutPrefix(key, prefix+"/workers/"); ok {
		w.fault(history.Fault{Kind: history.Evict, Node: name, At: time.Now()})
	}
	return true
}

// extend extends every lease, as a new leader of etcd does.
func extend(w *world, d dice) bool {
	w.server.ExtendLeases(d.upTo(10 * time.Second))
	return true
}

// depose deletes the leader's key.
func depose(w *world, _ dice) bool {
	ctx := context.Background()
	resp, err := w.recorder.client.Get(ctx, prefix+"/election/", clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return false
	}
	_, err = w.recorder.client.Delete(ctx, string(resp.Kvs[0].Key))
	return err == nil
}

// setClock sets a replica's clock wrong, and right again after a while.
func (w *world) setClock(d dice) bool {
	m := w.anyone(d)
	if m == nil || !m.replica || !w.plan.clocksSet {
		return false
	}
	m.wrong++
	m.clock.set(d.either(oneOf(d, time.Second, 10*time.Second, time.Minute)))
	w.at(time.Now().Add(d.between(time.Second, 40*time.Second)), func() {
		if m.wrong--; m.wrong == 0 {
			m.clock.set(m.offset)
		}
	})
	return true
}

// fill makes the store run out of space for a while.
func fill(w *world, d dice) bool {
	until := time.Now().Add(d.between(time.Second, 15*time.Second))
	w.server.SetNoSpace(true)
	w.fault(history.Fault{Kind: history.Outage, At: time.Now(), Until: until})
	w.at(until, func() { w.server.SetNoSpace(false) })
	return true
}

// outage makes the store unreachable for all processes for a while. After that, etcd's new leader extends all leases.
func (w *world) outage(d dice) bool {
	until := time.Now().Add(outageTime(d))
	w.fault(history.Fault{Kind: history.Outage, At: time.Now(), Until: until})
	for _, m := range w.machines {
		if p := m.process; p != nil {
			w.server.Cut(p.client)
			w.at(until, func() {
				if !p.dead.Load() {
					w.server.Heal(p.client)
				}
			})
		}
	}
	w.at(until, func() { w.server.ExtendLeases(0) })
	return true
}

// heal ends every fault.
func (w *world) heal() {
	w.net.roughen(false)
	w.server.SetNoSpace(false)
	for _, m := range w.machines {
		m.clock.set(m.offset)
		if p := m.process; p != nil {
			m.resume()
			w.net.disturb(p.client, none, time.Time{})
			w.server.Heal(p.client)
			w.server.ResumeWatches(p.client)
		}
	}
}
