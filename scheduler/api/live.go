package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const (
	// clusterFresh is how old the state of the cluster may be that open pages share.
	clusterFresh = 500 * time.Millisecond
	// liveJobs is how many names one event has. If more jobs have changed, the event stands for all jobs.
	liveJobs = 50
	// livePerSecond is how many events all pages together get in a second. So a thousand open pages cost little.
	livePerSecond = 100
	// liveEvery is the shortest time between two events for the same page.
	liveEvery = 500 * time.Millisecond
)

// LiveCluster is the data of the event cluster: the state of the cluster in short.
type LiveCluster struct {
	Node     string      `json:"node"`
	Ready    bool        `json:"ready"`
	NotReady []string    `json:"not_ready,omitempty"`
	Leader   *LeaderView `json:"leader"`
	AsOf     time.Time   `json:"as_of" doc:"The replica has all changes that the store had at this time"`
	At       time.Time   `json:"at" doc:"Time of this event, by the clock of the replica"`
}

// LiveChange is the data of the event changed.
type LiveChange struct {
	Revision int64    `json:"revision"`
	Jobs     []string `json:"jobs,omitempty" doc:"The jobs that have changed, or whose runs have"`
	All      bool     `json:"all,omitempty" doc:"Any job may have changed"`
	Retry    int64    `json:"retry" doc:"A page asks again after at most this many milliseconds, at random"`
}

// sharedCluster keeps the state of the cluster for all open pages, because reading it asks etcd and the leader.
type sharedCluster struct {
	mu   sync.Mutex
	view ClusterView   // guarded by mu
	err  error         // guarded by mu
	at   time.Time     // guarded by mu: zero before the first answer
	busy chan struct{} // guarded by mu: closed when the read that is under way has ended; nil if there is none
}

// sharedCluster returns the state of the cluster, which is at most clusterFresh old while etcd answers. While a read is under way,
// it returns the state before, so that a store that does not answer delays no page.
func (s *Server) sharedCluster(ctx context.Context) (ClusterView, error) {
	c := &s.cluster
	c.mu.Lock()
	known := !c.at.IsZero()
	if known && (s.now().Sub(c.at) < clusterFresh || c.busy != nil) {
		defer c.mu.Unlock()
		return c.view, c.err
	}
	if c.busy == nil {
		c.busy = make(chan struct{})
		s.inFlight.Go(func() { s.readSharedCluster(context.WithoutCancel(ctx)) }) // Serve waits for it
	}
	busy, before, err := c.busy, c.view, c.err
	c.mu.Unlock()
	var late <-chan time.Time // nil without a state before: only the answer ends the wait
	if known {
		late = time.After(100 * time.Millisecond)
	}
	select {
	case <-busy:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.view, c.err
	case <-late:
		return before, err
	case <-ctx.Done():
		return before, cmp.Or(err, context.Cause(ctx))
	}
}

// readSharedCluster reads the state of the cluster, and closes busy.
func (s *Server) readSharedCluster(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	view, err := s.back.Replica.Cluster(ctx)
	c := &s.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view, c.err, c.at = view, err, s.now()
	close(c.busy)
	c.busy = nil
}

// watchLive streams which jobs have changed, and the state of the cluster. Pages read again what they show.
func (s *Server) watchLive(request context.Context, in *struct {
	LastEventID string `header:"Last-Event-ID" doc:"Store revision to continue after"`
	After       string `query:"after" doc:"The same for a first connection"`
}) (*huma.StreamResponse, error) {
	after, err := (&eventsInput{LastEventID: in.LastEventID, After: in.After}).after()
	if err != nil {
		return nil, err
	}
	ctx, opened, end := s.streamContext(request)
	opened()
	return &huma.StreamResponse{Body: func(response huma.Context) {
		defer end()
		st, err := s.startStream(response, "text/event-stream")
		if err == nil {
			err = s.sendLive(ctx, st, after)
		}
		s.log.Debug("live stream ended", "by", caller(request), "err", cause(ctx, err))
	}}, nil
}

func (s *Server) sendLive(ctx context.Context, st *stream, after int64) error {
	defer countLive(&s.live)()
	now, _, _, _ := s.back.Overview.Changed(after) //nolint:dogsled // the stream sends the rest later
	if after == 0 {
		after = now
	}
	if err := st.send(fmt.Appendf(nil, "retry: %d\nid: %d\n\n", reconnect, after)); err != nil {
		return err
	}
	tick := time.NewTicker(clusterFresh)
	defer tick.Stop()
	var shown string
	var sent, heard time.Time
	for {
		var out []byte
		if text, rest := s.liveCluster(ctx); rest != shown || s.now().Sub(heard) > s.cfg.Heartbeat {
			out = fmt.Appendf(out, "event: cluster\ndata: %s\n\n", text)
			shown, heard = rest, s.now()
		}
		rev, jobs, complete, moved := s.back.Overview.Changed(after)
		pause := max(liveEvery, time.Duration(s.live.Load())*time.Second/livePerSecond)
		if rev > after && s.now().Sub(sent) >= pause {
			if frame := s.liveChange(ctx, rev, jobs, complete, pause); frame != nil {
				out, sent = append(out, frame...), s.now()
			}
			after, moved = rev, nil
		} else if rev > after {
			moved = nil
		}
		if len(out) > 0 {
			if err := st.send(out); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-moved:
		case <-tick.C:
		}
	}
}

// liveCluster returns the data of an event, and the part of it whose change is worth an event.
func (s *Server) liveCluster(ctx context.Context) (text, rest string) {
	view, err := s.sharedCluster(ctx)
	v := LiveCluster{Node: view.Node, Ready: view.Ready, NotReady: view.NotReady, Leader: view.Leader, AsOf: view.Store.AsOf}
	if err != nil {
		v.Node, v.Ready, v.NotReady = s.cfg.Version.Node, false, []string{err.Error()}
	}
	b, _ := json.Marshal(v.without())
	v.At = s.present().UTC()
	all, _ := json.Marshal(v)
	return string(all), string(b)
}

// without returns v without its times. While the replica hears nothing from the store, its age counts in steps.
func (v LiveCluster) without() LiveCluster {
	if !v.AsOf.IsZero() {
		v.AsOf = v.AsOf.Truncate(liveAge)
	}
	return v
}

// liveAge is the step in which pages learn the age of their data.
const liveAge = 5 * time.Second

// liveChange returns an event about the jobs that the caller may see; nil if it may see none of them.
func (s *Server) liveChange(ctx context.Context, rev int64, jobs []string, complete bool, pause time.Duration) []byte {
	v := LiveChange{Revision: rev, Jobs: jobs, Retry: pause.Milliseconds() / 2}
	if sees := s.sees(ctx); sees != nil {
		v.Jobs = slices.DeleteFunc(v.Jobs, func(name string) bool { return name != "" && !sees(name) })
	}
	if len(v.Jobs) == 0 && complete {
		return nil
	}
	if len(v.Jobs) > liveJobs || !complete {
		v.Jobs, v.All = nil, true
	}
	data, _ := json.Marshal(v)
	return []byte("id: " + strconv.FormatInt(rev, 10) + "\nevent: changed\ndata: " + string(data) + "\n\n")
}

// countLive counts a stream until the function that it returns is called.
func countLive(n *atomic.Int64) func() {
	n.Add(1)
	return func() { n.Add(-1) }
}
