package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// part is one row of the report of a profile. A sample belongs to the first part in this list that one of its functions names.
// Within a part, the functions nearest to the leaf of the stack are examined first.
type part struct {
	name      string
	functions []string // parts of the names of functions
}

const (
	memoryStore = "the store in memory"
	collection  = "garbage collection"
	elsewhere   = "rest: Go's scheduler"
)

var parts = []part{
	{memoryStore, []string{"store/mem."}},
	{collection, []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc",
		"runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart"}},
	{"codec", []string{"AppendJSON", "store.decode", "store.(*Mirror).decode", "store.encode",
		"store.checkOrder", "encoding/json.", "job.Parse"}},
	{"mirror", []string{"store.(*Mirror)", "store.(*Store).follow", "store.(*Feed)"}},
	{"journal", []string{"worker.(*Journal)", "worker.(*batch)", "go.etcd.io/bbolt."}},
	{"store: requests, groups", []string{"store.(*"}},
	{"worker", []string{"scheduler/worker.", "scheduler/executor", "main.(*ledger)"}},
	{"planner", []string{"scheduler/planner."}},
	{"leader's loop", []string{"rota/scheduler.", "scheduler.(*"}},
}

// partOf returns the part of a stack of functions, whose leaf is the first.
func partOf(stack []string) string {
	for _, p := range parts {
		for _, f := range stack {
			if slices.ContainsFunc(p.functions, func(name string) bool { return strings.Contains(f, name) }) {
				return p.name
			}
		}
	}
	return elsewhere
}

// shares returns the share of each part in a profile. base is a profile of the same kind that is subtracted; "" is none.
func shares(profile, index, base string) (map[string]float64, error) {
	args := []string{"tool", "pprof", "-traces", "-sample_index=" + index}
	if base != "" {
		args = append(args, "-base", base)
	}
	text, err := exec.Command("go", append(args, profile)...).Output()
	if err != nil {
		return nil, fmt.Errorf("read the profile: %w", errors.Join(err, stderrOf(err)))
	}
	sums, total := make(map[string]float64), 0.0
	for trace := range bytes.SplitSeq(text, []byte("-----------+")) {
		value, stack := readTrace(string(trace))
		sums[partOf(stack)] += value
		total += value
	}
	for name := range sums {
		sums[name] /= total
	}
	return sums, nil
}

func stderrOf(err error) error {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return errors.New(string(e.Stderr))
	}
	return nil
}

// readTrace reads one stack of the output of pprof -traces: a line of dashes, lines of labels, and then a value and a function,
// followed by its callers. Its value is zero if there is no stack.
func readTrace(text string) (value float64, stack []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "-") || strings.HasSuffix(fields[0], ":"):
		case len(stack) > 0:
			stack = append(stack, fields[0])
		case len(fields) > 1:
			if v, ok := quantity(fields[0]); ok {
				value, stack = v, []string{fields[1]}
			}
		}
	}
	return value, stack
}

// quantity reads a duration, in seconds, or a plain number.
func quantity(text string) (float64, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), true
	}
	var v float64
	_, err := fmt.Sscan(text, &v)
	return v, err == nil
}

// allocProfile is the profile of allocations from its creation on.
type allocProfile struct{ before, after string }

func newAllocProfile(dir string) (*allocProfile, error) {
	a := &allocProfile{filepath.Join(dir, "allocs-before.pprof"), filepath.Join(dir, "allocs-after.pprof")}
	return a, writeAllocs(a.before)
}

// shares returns the share of each part in the allocated objects.
func (a *allocProfile) shares() (map[string]float64, error) {
	if err := writeAllocs(a.after); err != nil {
		return nil, err
	}
	return shares(a.after, "alloc_objects", a.before)
}

func writeAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // a profile has the allocations up to the last collection
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// report prints the parts of a run, which costs that much processor time, in microseconds, and that many allocations.
func report(times, objects map[string]float64, micros, allocations float64) {
	names := []string{elsewhere}
	for _, p := range parts {
		names = append(names, p.name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(1e6 * (times[b] - times[a])) })
	for _, name := range names {
		say("- "+name, "%5.1f us, %5.1f allocations", micros*times[name], allocations*objects[name])
	}
	// The store causes garbage in proportion to its allocations.
	without := micros * (1 - times[memoryStore] - times[collection]*objects[memoryStore])
	say("without that store", "%.1f us, %.0f allocations", without, allocations*(1-objects[memoryStore]))
}
