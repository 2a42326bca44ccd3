package node

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// How much garbage may accumulate between two collections. A process with little live memory may grow by the spare. Without this,
// it would spend a third of its time on collections under load. The spare of a process with much live memory shrinks, so that a
// million delayed runs fit into a gibibyte. But each process may grow by half.
const (
	mostSpare   = 384 << 20 // bytes
	muchMemory  = 768 << 20 // bytes of live memory and spare
	spareShare  = 8         // the spare is at most 1/spareShare of the memory limit
	leastGrowth = 50        // percent of the live memory
	mostGrowth  = 400
	tuneEvery   = time.Second
)

// When a process counts as overloaded. Then garbage may take up to 1/spareShare of the memory limit, because collections cost runs.
// This holds for a process that contains etcd. Any other keeps to muchMemory.
const (
	overloadBusy = 0.75 // share of the processors that the process uses at least
	overloadGC   = 0.1  // share of the used processor time that collections take at least
	overloadFor  = 2    // consecutive polls
	startFor     = 10   // polls: a process is not overloaded before its start, which reads the store, has ended
)

// When a process counts as at rest. Then it returns unused memory to the machine. It needs most of its memory at the start, to
// read the store.
const (
	restRate = 8 << 20 // bytes between two polls: a process that allocates less than this is at rest
	restFor  = 10      // consecutive polls at rest, after which memory is returned
)

// SpareMemory adapts the garbage collector of the whole process to the size of the live memory. It also returns free memory to
// the machine when the process is at rest, until ctx ends. If GOGC is set, it does nothing. It is meant for programs that only
// run a node. embedded says that the node contains its etcd.
func SpareMemory(ctx context.Context, embedded bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	spare, limit := uint64(mostSpare), memoryLimit(os.ReadFile)
	if limit > 0 {
		spare = min(spare, limit/spareShare)
	}
	read := []runtimemetrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	unrest, load := exertion{enough: spare}, overload{}
	for set := 0; ctx.Err() == nil; loop.Pause(ctx, tuneEvery) {
		runtimemetrics.Read(read)
		live := read[0].Value.Uint64()
		next := growth(live, spare)
		times := cpuTimes{total: read[2].Value.Float64(), idle: read[3].Value.Float64(), gc: read[4].Value.Float64()}
		if embedded && load.lasts(times) {
			next = max(next, growthWithin(live, limit/spareShare))
		}
		if next != set {
			debug.SetGCPercent(next)
			set = next
		}
		if unrest.over(read[1].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// cpuTimes are processor times since the start of the process, in seconds. The runtime updates them at the end of a collection.
type cpuTimes struct {
	total float64 // of all processors that the process may use
	idle  float64
	gc    float64 // of collections
}

// overload detects that a process needs its processors for a long time, and that collections take much of them.
type overload struct {
	last  cpuTimes
	age   int  // polls since the start of the process
	polls int  // consecutive polls at which the process was busy
	on    bool // it lasts until the process is less busy
}

// lasts reports whether the overload lasts.
func (o *overload) lasts(now cpuTimes) bool {
	o.age++
	total, used, gc := now.total-o.last.total, now.total-o.last.total-(now.idle-o.last.idle), now.gc-o.last.gc
	if total <= 0 { // no collection has ended since the last poll
		return o.on
	}
	o.last = now
	if used < overloadBusy*total {
		o.polls, o.on = 0, false
		return false
	}
	o.polls++
	o.on = o.on || o.age > startFor && o.polls >= overloadFor && gc > overloadGC*used
	return o.on
}

// exertion detects that a process is at rest after it has allocated much memory.
type exertion struct {
	enough  uint64 // bytes that must be allocated before a collection is worth its cost
	begun   uint64 // total of allocated bytes at the last rest
	last    uint64 // total of allocated bytes at the last poll
	resting int    // consecutive polls at rest
}

// over reports that an exertion has ended. It returns true once for each exertion. allocated is the total of bytes that the
// process has ever allocated.
func (e *exertion) over(allocated uint64) bool {
	if e.resting++; allocated-e.last >= restRate {
		e.resting = 0
	}
	e.last = allocated
	if e.resting < restFor || allocated-e.begun < e.enough {
		return false
	}
	e.begun = allocated
	return true
}

// growth returns by how many percent the heap may grow until the next collection.
func growth(live, spare uint64) int {
	return growthWithin(live, min(spare, muchMemory-min(live, muchMemory)))
}

// growthWithin is growth for a spare that does not depend on the live memory.
func growthWithin(live, spare uint64) int {
	live = max(live, 4<<20) // the minimum heap of the Go runtime
	return int(min(max(100*spare/live, leastGrowth), mostGrowth))
}

// memoryLimit returns how much memory this process may use: the memory of the machine, or the limit of its control groups if that
// is lower. Zero means unknown.
func memoryLimit(read func(string) ([]byte, error)) (limit uint64) {
	smaller := func(text string, unit uint64) {
		if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil && (limit == 0 || n*unit < limit) {
			limit = n * unit
		}
	}
	if b, err := read("/proc/meminfo"); err == nil {
		if fields := strings.Fields(string(b)); len(fields) > 1 && fields[0] == "MemTotal:" {
			smaller(fields[1], 1<<10)
		}
	}
	b, _ := read("/proc/self/cgroup") // without the file, nothing limits this process
	for line := range strings.Lines(string(b)) {
		// The fields are: id of the hierarchy, its controllers (none: the unified hierarchy), path of the group.
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		root, file := "/sys/fs/cgroup", "memory.max"
		if controllers != "" {
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
			if !slices.Contains(strings.Split(controllers, ","), "memory") {
				continue
			}
		}
		for ; ; group = filepath.Dir(group) { // the limit of every parent group also applies
			if b, err := read(filepath.Join(root, group, file)); err == nil {
				smaller(string(b), 1) // the file has a number or "max"
			}
			if group == "/" || group == "." {
				break
			}
		}
	}
	return limit
}
