package cluster

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
	"github.com/rota-scheduler/rota/test/proxy"
)

// startBehindLinks starts an etcd, three replicas that do not work, and workers, without jobs. Each node reaches etcd over a link
// of its own, which is returned under the node's name. The recorder needs no link.
func startBehindLinks(t *testing.T, workers ...string) (*Cluster, map[string]*proxy.Link) {
	t.Helper()
	etcd := startEtcd(t, 1<<30)
	links := map[string]*proxy.Link{}
	c := Start(t, Config{
		Binary: binary, Etcd: []string{etcd}, Jobs: map[string]job.Spec{},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
		Prepare: func(c *Cluster) {
			for _, n := range c.Replicas() {
				links[n.Name] = proxy.NewLink(t, etcd)
				n.reachVia(links[n.Name].Endpoint())
			}
		},
	})
	for _, name := range workers {
		links[name] = proxy.NewLink(t, etcd)
		c.cfg.Etcd = []string{links[name].Endpoint()}
		c.AddWorker(name, "--worker-capacity=30")
	}
	c.cfg.Etcd = []string{etcd}
	return c, links
}

// define puts the jobs of a cluster that has none in force.
func (c *Cluster) define(specs map[string]job.Spec) {
	c.t.Helper()
	c.cfg.Jobs = specs
	c.WriteJobs(specs)
	Await(c.t, 30*time.Second, "the jobs are in force", func() bool {
		v, err := c.Client.Cluster(c.t.Context())
		return err == nil && v.Jobs == len(specs)
	})
}

// linkFaults kills the leader and the workers of a cluster at random, and cuts their links to the store.
type linkFaults struct {
	c      *Cluster
	links  map[string]*proxy.Link
	random *rand.Rand
	work   string    // a job whose runs last for seconds, so that a fault of a worker hits one
	end    time.Time // of the schedule of that job

	made    int            // faults so far
	counts  map[string]int // faults by kind
	deposed int            // terms that faults ended
	cuts    []cut
}

// cut is a time in which the link of a node was cut.
type cut struct {
	node        string
	from, until time.Time
	held        int64 // how many reads it held back
}

// longCut is more than twice the lease of a session: a node that is cut off for so long loses its term and its runs.
const longCut = 12 * time.Second

// next makes one fault, and returns when the node is ready again. The first four faults are one of each kind, with cuts that last
// longer than a lease.
func (f *linkFaults) next() {
	if f.counts == nil {
		f.counts = map[string]int{}
		f.busy() // the first fault finds work to disturb
	}
	kind, lasts := f.made, longCut
	if kind >= 4 {
		kind = f.random.IntN(4)
		lasts = time.Duration(f.random.Int64N(int64(longCut)))
	}
	f.made++
	switch kind {
	case 0:
		f.counts["kill of the leader"]++
		leader := f.c.Leader()
		f.deposes(leader, func() { f.kill(leader) })
	case 1:
		f.counts["kill of a worker"]++
		f.kill(f.busy())
	case 2:
		f.counts["cut of the leader"]++
		leader := f.c.Leader()
		if lasts < longCut {
			f.cut(leader, lasts)
			break
		}
		f.deposes(leader, func() { f.cut(leader, lasts) })
	case 3:
		f.counts["cut of a worker"]++
		f.cut(f.busy(), lasts)
	}
}

// deposes makes a fault of the leader, and fails the test if its term goes on.
func (f *linkFaults) deposes(leader *Node, fault func()) {
	f.c.t.Helper()
	before := f.term(leader)
	fault()
	next := f.c.Leader()
	if after := f.term(next); after <= before {
		f.c.t.Errorf("%s leads with term %d after a fault of %s, whose term was %d: no effect", next.Name, after, leader.Name, before)
	}
	f.deposed++
}

// term returns the term that a leader names.
func (f *linkFaults) term(leader *Node) (term int64) {
	f.c.t.Helper()
	Await(f.c.t, 20*time.Second, leader.Name+" names its term", func() bool {
		v, err := leader.Client.Cluster(f.c.t.Context())
		if err == nil && v.Leader != nil {
			term = v.Leader.Term
		}
		return term != 0
	})
	return term
}

func (f *linkFaults) kill(n *Node) {
	n.Kill()
	n.Start()
	n.WaitReady()
}

// cut cuts the link of a node for a time. In half of the cuts, another node dies meanwhile.
func (f *linkFaults) cut(n *Node, lasts time.Duration) {
	link := f.links[n.Name]
	held := link.Held()
	this := cut{node: n.Name, from: time.Now()}
	f.c.Harm(history.Fault{Kind: history.Outage, Node: n.Name, At: this.from})
	link.Cut()
	if f.random.IntN(2) == 0 {
		others := slices.DeleteFunc(slices.Clone(f.c.nodes), func(o *Node) bool { return o == n })
		f.counts["kill during a cut"]++
		f.kill(others[f.random.IntN(len(others))])
	}
	Let(time.Until(this.from.Add(lasts)))
	link.Heal()
	f.c.Heal(n.Name)
	this.until, this.held = time.Now(), link.Held()-held
	f.cuts = append(f.cuts, this)
	n.WaitReady()
}

// busy returns a worker that executes a run of f.work. After the last slot it returns any worker.
func (f *linkFaults) busy() (n *Node) {
	f.c.t.Helper()
	Await(f.c.t, time.Minute, "a worker executes a run", func() bool {
		var at []*Node
		if time.Now().After(f.end) {
			at = slices.DeleteFunc(slices.Clone(f.c.nodes), func(n *Node) bool { return !strings.HasPrefix(n.Name, "w") })
		}
		for _, r := range f.c.Recorder.Runs(f.work) {
			i := slices.IndexFunc(f.c.nodes, func(n *Node) bool { return n.Name == r.Worker })
			if r.State == job.Running && i >= 0 && f.c.nodes[i].Running() {
				at = append(at, f.c.nodes[i])
			}
		}
		if len(at) > 0 {
			n = at[f.random.IntN(len(at))]
		}
		return n != nil
	})
	return n
}

// check proves that the faults took effect: each cut held bytes back, and workers lost attempts by kills and by cuts. Each fault of
// a leader has its own check for the end of the term.
func (f *linkFaults) check(t *testing.T) {
	t.Helper()
	held := int64(0)
	for _, cut := range f.cuts {
		held += cut.held
		if lasted := cut.until.Sub(cut.from); cut.held == 0 && lasted > 2*time.Second {
			t.Errorf("the cut of %s for %v held nothing back", cut.node, lasted)
		}
	}
	byKill, byCut := 0, 0
	for _, r := range f.c.Recorder.Runs("") {
		for _, a := range r.Attempts {
			switch {
			case a.State != job.Lost:
			case slices.ContainsFunc(f.cuts, func(c cut) bool {
				return c.node == a.Worker && a.Started.Before(c.until) && a.Finished.After(c.from)
			}):
				byCut++
			default:
				byKill++
			}
		}
	}
	if byKill == 0 || byCut == 0 {
		t.Errorf("%d attempts were lost by kills and %d by cuts, want some of each: the faults took no effect", byKill, byCut)
	}
	t.Logf("%d faults: %v; they ended %d terms; cuts held back %d reads; %d attempts were lost by kills and %d by cuts",
		f.made, f.counts, f.deposed, held, byKill, byCut)
}
