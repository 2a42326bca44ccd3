package election

import (
	"context"
	"sync"
	"time"
)

// Times of WatchProcesses.
const (
	processPoll     = 500 * time.Millisecond // between two reads of the list of processes
	endCallTimeout  = 5 * time.Second        // of one call of End
	endCallInterval = 100 * time.Millisecond // after a call of End that failed
)

// Process is one life of an operating-system process. If a process with the same name starts again, it has another session.
type Process struct {
	Name    string
	Addr    string // the address where it listens; empty: its death cannot be proven
	Session string
}

// ProcessWatch says which processes WatchProcesses watches and how it ends their presence. Its functions must be safe for
// concurrent use.
type ProcessWatch struct {
	// Present lists the processes that are present.
	Present func() []Process
	// End ends the presence of a process that is proven dead. It returns nil if the presence is ended, or was ended before. After
	// an error, WatchProcesses calls it again while the process is present, because a death can be proven only once. End must
	// tolerate a wrong proof.
	End func(ctx context.Context, p Process) error
	// Await waits for the death of the process at an address. Nil means AwaitDeath; a simulation replaces it.
	Await func(ctx context.Context, addr string) bool
}

// WatchProcesses ends the presence of each process that is proven dead, so that nothing waits for its lease to expire. It
// returns when ctx has ended.
func WatchProcesses(ctx context.Context, cfg ProcessWatch) {
	if cfg.Await == nil {
		cfg.Await = AwaitDeath
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := make(map[string]context.CancelFunc) // by session
	for ctx.Err() == nil {
		present := make(map[string]bool)
		for _, p := range cfg.Present() {
			present[p.Session] = true
			if watched[p.Session] != nil || p.Addr == "" {
				continue
			}
			watching, stop := context.WithCancel(ctx)
			watched[p.Session] = stop
			wg.Go(func() { cfg.watch(watching, p) })
		}
		for session, stop := range watched {
			if !present[session] {
				stop()
				delete(watched, session)
			}
		}
		wait(ctx, processPoll)
	}
}

// watch waits until p is proven dead, and then ends its presence.
func (cfg ProcessWatch) watch(ctx context.Context, p Process) {
	for !cfg.Await(ctx, p.Addr) {
		if ctx.Err() != nil {
			return
		}
		wait(ctx, processPoll)
	}
	for ctx.Err() == nil {
		ending, cancel := context.WithTimeout(ctx, endCallTimeout)
		err := cfg.End(ending, p)
		cancel()
		if err == nil {
			return
		}
		wait(ctx, endCallInterval)
	}
}
