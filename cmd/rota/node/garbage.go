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

// SpareMemory sets for the whole process how much garbage may gather, by how much is live, until ctx ends. It does nothing
// if GOGC is set. For programs that are nothing else than a node.
func SpareMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	spare := uint64(mostSpare)
	if limit := memoryLimit(os.ReadFile); limit > 0 {
		spare = min(spare, limit/spareShare)
	}
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ctx.Err() == nil; pause(ctx, tuneEvery) {
		runtimemetrics.Read(live)
		if next := growth(live[0].Value.Uint64(), spare); next != set {
			debug.SetGCPercent(next)
			set = next
		}
	}
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
