package sim

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

var (
	seeds    = flag.Int("sim.seeds", defaultSeeds, "how many clusters to simulate")
	from     = flag.Uint64("sim.from", 0, "the first seed")
	only     = flag.Int64("sim.seed", -1, "simulate this one alone, and tell what happens")
	patience = flag.Duration("sim.patience", 5*time.Minute, "how long one cluster may take, on the clock of the wall")
	repeat   = flag.Int("sim.repeat", 1, "how often each seed is simulated")
)

// TestSim simulates clusters, one for each seed.
func TestSim(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a cluster is small, but makes much garbage
	total := newTally()
	began := time.Now()
	if *only >= 0 {
		for n := 0; n < *repeat && !t.Failed(); n++ {
			simulate(t, uint64(*only), total, true)
		}
		t.Logf("%v", total)
		return
	}
	clusters := 0
	run := func(name string, list []uint64) {
		clusters += len(list) * *repeat
		t.Run(name, func(t *testing.T) {
			for _, seed := range list {
				for range *repeat {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						t.Parallel()
						simulate(t, seed, total, false)
					})
				}
			}
		})
	}
	list := make([]uint64, *seeds)
	for i := range list {
		list[i] = *from + uint64(i)
	}
	run("seeds", list)
	if *from == 0 && *seeds >= few {
		for more := range slices.Chunk(further(*seeds), len(likely)) {
			if t.Failed() || len(missingEffects(total)) == 0 {
				break
			}
			run("further", more)
		}
	}
	checkEffects(t, clusters, total)
	t.Logf("%d seeds in %v:%v", clusters, time.Since(began).Round(time.Second), total)
}

// simulate runs the cluster of one seed.
func simulate(t *testing.T, seed uint64, total *tally, verbose bool) {
	dir := disks(t)
	count := newTally()
	log := hclog.NewNullLogger()
	if verbose {
		log = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: os.Stdout, TimeFormat: "2006-01-02 15:04:05.000000", TimeFn: time.Now, DisableTime: false})
	}
	watchdog := time.AfterFunc(*patience, func() { panic(fmt.Sprintf("seed %d: time does not pass any more", seed)) })
	defer watchdog.Stop()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newPlan(seed), dir, log, count)
		w.live()
		w.close()
	})
	checkLoad(t, count)
	if t.Failed() {
		t.Errorf("again: go test ./test/sim -run TestSim -sim.seed=%d -sim.repeat=20", seed)
	}
	total.addAll(count, seed)
}

// disks returns a directory in memory if possible, because journals are synced with every outcome.
func disks(t *testing.T) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	//nolint:usetesting // t.TempDir is on a disk.
	dir, err := os.MkdirTemp(memory, "rota-sim-"+strings.ReplaceAll(t.Name(), "/", "-")+"-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// live runs the cluster from its first start to the verdict.
func (w *world) live() {
	time.Sleep(time.Until(w.plan.began))
	for _, name := range slices.Sorted(maps.Keys(w.plan.limits)) {
		if err := w.caller.limit(context.Background(), name); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, j := range w.plan.jobs {
		if err := w.caller.define(context.Background(), j.Name, j.Spec); err != nil {
			w.t.Fatal(err)
		}
	}
	for i, win := range w.plan.windows {
		w.runUntil(win.from)
		w.switchOn()
		w.storm(win.to, w.plan.gap)
		w.caller.play(win.to)
		w.caller.decide(win.to)
		w.runUntil(win.to)
		if i < len(w.plan.windows)-1 {
			w.switchOff()
		}
	}
	w.heal()
	w.switchOn()
	w.caller.calls.Wait()
	w.settle()
	w.judge()
	if w.t.Failed() && *only >= 0 {
		w.tell()
	}
}

// switchOn starts a process on each machine without one.
func (w *world) switchOn() {
	w.off = false
	for _, m := range w.machines {
		m.start()
	}
}

// switchOff ends every process by a stop or a kill.
func (w *world) switchOff() {
	w.off = true
	w.heal()
	d := throw(w.plan.seed, "off", time.Now().UnixNano())
	for _, m := range w.machines {
		if d.chance(0.5) {
			m.kill()
		} else {
			m.stop()
		}
	}
}
