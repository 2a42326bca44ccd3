package node

import (
	"context"
	"os"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"
)

// How often memory is collected: a process that holds little is let grow by spare before it has to, since under load it
// would spend a third of its time on that otherwise; one that holds much, by half.
const (
	spare       = 384 << 20
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
	live := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ctx.Err() == nil; pause(ctx, tuneEvery) {
		runtimemetrics.Read(live)
		if next := growth(live[0].Value.Uint64()); next != set {
			debug.SetGCPercent(next)
			set = next
		}
	}
}

// growth is by how many percent what is live may grow.
func growth(live uint64) int {
	if live == 0 { // nothing was collected yet
		return mostGrowth
	}
	return int(min(max(100*spare/live, leastGrowth), mostGrowth))
}
