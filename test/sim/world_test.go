package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store/mem"
	"github.com/rota-scheduler/rota/test/history"
)

// world is one simulated cluster, from an empty store to the verdict.
type world struct {
	t        *testing.T
	plan     plan
	dir      string // directory of all disks
	log      hclog.Logger
	tally    *tally
	server   *mem.Server
	net      *network
	ledger   ledger
	recorder *recorder
	caller   *caller
	machines []*machine
	off      bool     // no process may start
	suspects []string // jobs with a violation
	agenda   []entry  // in the order of time; only the goroutine that runs it uses it

	processes sync.WaitGroup

	mu        sync.Mutex
	faults    []history.Fault     // guarded by mu
	listening map[string]*process // guarded by mu, by address
}

// entry is an action at a time.
type entry struct {
	at time.Time
	do func()
}

// at schedules an action.
func (w *world) at(t time.Time, do func()) {
	i, _ := slices.BinarySearchFunc(w.agenda, t, func(e entry, t time.Time) int {
		if e.at.After(t) {
			return 1
		}
		return -1
	})
	w.agenda = slices.Insert(w.agenda, i, entry{t, do})
}

// runUntil runs the actions of the agenda until end.
func (w *world) runUntil(end time.Time) {
	for len(w.agenda) > 0 && !w.agenda[0].at.After(end) {
		next := w.agenda[0]
		w.agenda = w.agenda[1:]
		// Simulated time.
		time.Sleep(time.Until(next.at))
		next.do()
	}
	// Simulated time.
	time.Sleep(time.Until(end))
}

// newWorld makes the machines and the store without a process.
func newWorld(t *testing.T, p plan, dir string, log hclog.Logger, count *tally) *world {
	w := &world{t: t, plan: p, dir: dir, log: log, tally: count, net: newNetwork(p.seed, count), listening: make(map[string]*process)}
	w.server = mem.New(mem.Config{Faults: w.net})
	w.recorder = newRecorder(w.server)
	w.caller = newCaller(w)
	for i, spec := range p.machines {
		name := fmt.Sprintf("q%d", i+1)
		if !spec.replica {
			name = fmt.Sprintf("w%d", i+1)
		}
		m := &machine{world: w, name: name, replica: spec.replica, capacity: spec.capacity, offset: spec.offset, lies: spec.lies, disk: filepath.Join(dir, name+".db")}
		m.clock.set(spec.offset)
		w.machines = append(w.machines, m)
	}
	return w
}

// close ends everything, so that the bubble can end.
func (w *world) close() {
	w.caller.close()
	for _, m := range w.machines {
		if m.process != nil {
			m.process.cancel()
		}
	}
	w.processes.Wait()
	w.recorder.close()
	if err := w.server.Close(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) fault(f history.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, f)
}

// listen makes p reachable at its machine's address.
func (w *world) listen(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listening[p.machine.addr()] = p
}

// listener returns the process at an address; nil if there is none.
func (w *world) listener(addr string) *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.listening[addr]
	if p == nil {
		return nil
	}
	select {
	case <-p.gone:
		return nil
	default:
		return p
	}
}

// awaitDeath is election.AwaitDeath in the simulation. Sometimes its proof is wrong.
func (w *world) awaitDeath(ctx context.Context, addr string) bool {
	p := w.listener(addr)
	if p == nil {
		return false
	}
	var wrong <-chan time.Time
	if d := throw(w.plan.seed, "proof", addr, time.Now().UnixNano()); w.net.isRough() && d.chance(0.01) {
		wrong = time.After(d.upTo(time.Minute))
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-wrong:
			w.tally.add("fault: wrong proof of death")
			w.fault(history.Fault{Kind: history.Evict, Node: p.machine.name, At: time.Now()})
			return true
		case <-p.gone:
		}
		sleep(ctx, 30*time.Millisecond)
		if p = w.listener(addr); p == nil {
			return ctx.Err() == nil
		}
	}
}
