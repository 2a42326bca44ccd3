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

// How much garbage may gather between two collections. A process that holds little may grow by the spare: it would otherwise
// spend a third of its time on collections under load. A process that holds much may grow by half.
const (
	mostSpare   = 384 << 20 // bytes
	spareShare  = 8         // the spare is at most 1/spareShare of the memory limit
	leastGrowth = 50        // percent of what is live
	mostGrowth  = 400
	tuneEvery   = time.Second
)

// When a process is at rest, and returns unused memory to the machine. The start needs most of it, to read the store.
const (
	restRate = 8 << 20 // bytes between two polls: a process that allocates less is at rest
	restFor  = 10      // polls at rest until memory is returned
)

// SpareMemory tunes the garbage collector of the whole process by how much memory is live. It returns free memory to the machine
// when the process is at rest, until ctx ends. It does nothing if GOGC is set. It is for programs that only run a node.
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

// exertion detects that a process has come to rest after it allocated much.
type exertion struct {
	enough  uint64 // bytes: less is not worth a collection
	begun   uint64 // bytes that were allocated until the last rest
	last    uint64 // bytes that were allocated until the last poll
	resting int    // polls at rest in a row
}

// over reports the end of an exertion, once for each. allocated is how many bytes the process has ever allocated.
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

// growth returns by how many percent the live memory may grow.
func growth(live, spare uint64) int {
	live = max(live, 4<<20) // the runtime's own minimum
	return int(min(max(100*spare/live, leastGrowth), mostGrowth))
}

// memoryLimit returns how much memory this process may have: that of the machine, or the limit of its control groups. Zero means
// unknown.
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
	for ; ; group = filepath.Dir(group) { // every group above limits it as well
		if b, err := read(filepath.Join("/sys/fs/cgroup", group, "memory.max")); err == nil {
			smaller(string(b), 1) // or "max"
		}
		if group == "/" || group == "." {
			return limit
		}
	}
}
