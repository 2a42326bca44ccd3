package node

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// How often memory is collected: a process that holds little is let grow by a spare before it has to, since under load it
// would spend a third of its time on that otherwise; one that holds much, by half. The spare is a share of the memory that
// the process may have, where that is little.
const (
	mostSpare   = 384 << 20
	spareShare  = 8
	leastGrowth = 50 // percent of what is live
	mostGrowth  = 400
	tuneEvery   = time.Second
)

// When a process is at rest, and gives back what it does not need: above all what a start took to read the store.
const (
	restRate = 8 << 20 // bytes allocated between two looks: it is at rest if it is less,
	restFor  = 10      // for as many looks
)

// SpareMemory sets for the whole process how much garbage may gather, by how much is live, and gives back what is free once
// the process rests, until ctx ends. It does nothing if GOGC is set. For programs that are nothing else than a node.
func SpareMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	spare := uint64(mostSpare)
	if limit := memoryLimit(os.ReadFile); limit > 0 {
		spare = min(spare, limit/spareShare)
	}
	heap := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	unrest := exertion{enough: spare}
	for set := 0; ctx.Err() == nil; loop.Pause(ctx, tuneEvery) {
		runtimemetrics.Read(heap)
		if next := growth(heap[0].Value.Uint64(), spare); next != set {
			debug.SetGCPercent(next)
			set = next
		}
		if unrest.over(heap[1].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// exertion finds out when a process has come to rest after it allocated much.
type exertion struct {
	enough  uint64 // bytes: less is not worth the collection
	begun   uint64 // what had been allocated when it was at rest last
	last    uint64 // what had been allocated at the last look
	resting int    // looks since it allocated more than restRate between two of them
}

// over says, once for each exertion, that it is over. allocated is what the process has ever allocated.
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

// growth is by how many percent what is live may grow.
func growth(live, spare uint64) int {
	live = max(live, 4<<20) // what the runtime lets grow anyway
	return int(min(max(100*spare/live, leastGrowth), mostGrowth))
}

// memoryLimit is how much memory this process may have: that of the machine, or what its control group is limited to. Zero if
// nothing says it.
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
	group := "/"
	if b, err := read("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(b)) {
			if path, ok := strings.CutPrefix(line, "0::"); ok {
				group = strings.TrimSpace(path)
			}
		}
	}
	for ; ; group = filepath.Dir(group) { // the groups above limit it, too
		if b, err := read(filepath.Join("/sys/fs/cgroup", group, "memory.max")); err == nil {
			smaller(string(b), 1) // or "max"
		}
		if group == "/" || group == "." {
			return limit
		}
	}
}
