package election

import (
	"context"
	"sync"
	"time"
)

// The pace of WatchProcesses.
const (
	attendPoll    = 500 * time.Millisecond // how often it looks who has come or gone
	attendTimeout = 5 * time.Second        // of one call of End
	attendPause   = 100 * time.Millisecond // after one that failed
)

// Process is one life of a process: the next one of its name has another session.
type Process struct {
	Name    string
	Addr    string // where it listens; without one, its death cannot be proven
	Session string
}

// ProcessWatch says whose deaths are waited for, and what is to be done about them. Its functions are called from several
// goroutines.
type ProcessWatch struct {
	// Present lists the processes that are there.
	Present func() []Process
	// End ends the presence of a process that is proven dead, and returns nil if that is done or was not needed. After an
	// error it is called again, while the process is present: who is dead cannot be proven dead another time. It must bear
	// proofs that are wrong.
	End func(ctx context.Context, p Process) error
	// Await is AwaitDeath, unless a simulation owns the network.
	Await func(ctx context.Context, addr string) bool
}

// WatchProcesses ends the presence of processes that are proven dead, so that nobody has to wait for their leases. It returns when
// ctx has ended.
func WatchProcesses(ctx context.Context, cfg ProcessWatch) {
	if cfg.Await == nil {
		cfg.Await = AwaitDeath
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	attended := make(map[string]context.CancelFunc) // by session
	defer func() {
		for _, leave := range attended {
			leave()
		}
	}()
	for ctx.Err() == nil {
		present := make(map[string]bool)
		for _, p := range cfg.Present() {
			present[p.Session] = true
			if attended[p.Session] != nil || p.Addr == "" {
				continue
			}
			visit, leave := context.WithCancel(ctx)
			attended[p.Session] = leave
			wg.Go(func() { cfg.visit(visit, p) })
		}
		for session, leave := range attended {
			if !present[session] {
				leave()
				delete(attended, session)
			}
		}
		wait(ctx, attendPoll)
	}
}

// visit ends the presence of one process once it is proven dead.
func (cfg ProcessWatch) visit(ctx context.Context, p Process) {
	for !cfg.Await(ctx, p.Addr) {
		if ctx.Err() != nil {
			return
		}
		wait(ctx, attendPoll)
	}
	for ctx.Err() == nil {
		ending, cancel := context.WithTimeout(ctx, attendTimeout)
		err := cfg.End(ending, p)
		cancel()
		if err == nil {
			return
		}
		wait(ctx, attendPause)
	}
}
