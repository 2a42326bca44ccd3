package cluster

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// tellIn is how long after a fault, or after its end, every surviving replica reports it.
const tellIn = 5 * time.Second

// Others returns the replicas except one.
func (c *Cluster) Others(except *Node) (list []*Node) {
	for _, n := range c.Replicas() {
		if n != except {
			list = append(list, n)
		}
	}
	return list
}

// View returns what a replica knows of the cluster.
func (c *Cluster) View(n *Node) (v api.ClusterView) {
	c.t.Helper()
	if !Within(tellIn, func() (ok bool) {
		got, err := n.Client.Cluster(c.t.Context())
		v = got
		return err == nil
	}) {
		c.t.Fatalf("%s does not answer", n.Name)
	}
	return v
}

// Missed waits until `status` of each of the replicas has one missing member, since the instant of a fault, and tolerates no
// further loss, and until `events` has that loss.
func (c *Cluster) Missed(replicas []*Node, gone *Node, at time.Time) {
	c.t.Helper()
	for _, n := range replicas {
		var status, events string
		if !Within(tellIn, func() bool {
			v := c.View(n)
			var missing []string
			for _, m := range v.Members {
				if m.State != "present" {
					missing = append(missing, fmt.Sprintf("%s %s", m.Name, near(m.Since, at)))
				}
			}
			status = fmt.Sprintf("missing %v, tolerated %v", missing, deref(v.Tolerated))
			line, err := n.Client.Timeline(c.t.Context(), at.Add(-time.Minute).UTC().Format(time.RFC3339), "")
			events = fmt.Sprint(err)
			for _, e := range line.Entries {
				if e.Kind == "lost_member" && strings.HasPrefix(e.Text, gone.Name+" ") {
					events = near(e.At, at)
				}
			}
			return status == fmt.Sprintf("missing [%s in time], tolerated 0", gone.Name) && events == "in time"
		}) {
			c.t.Errorf("%s lost %s at %v: status: %s; events: %s", n.Name, gone.Name, at.UTC(), status, events)
		}
	}
}

func deref(n *int) any {
	if n == nil {
		return "unknown"
	}
	return *n
}

// near says whether a time is that of a fault, to the second.
func near(got, at time.Time) string {
	if got.Sub(at).Abs() > 1500*time.Millisecond {
		return got.UTC().Format(time.RFC3339Nano)
	}
	return "in time"
}

// Told waits until each of the replicas says a sentence. In the pattern, T stands for a time, and each (T) for one that must be
// that of the fault.
func (c *Cluster) Told(replicas []*Node, pattern string, times ...time.Time) {
	c.t.Helper()
	const clock = `[0-9]{2}:[0-9]{2}:[0-9]{2}Z`
	re := regexp.MustCompile(regexp.MustCompile(`\bT\b`).ReplaceAllString(pattern, clock))
	began := time.Now()
	for _, n := range replicas {
		var last string
		if !Within(tellIn, func() bool {
			v, err := n.Client.Incident(c.t.Context(), time.Time{})
			last = fmt.Sprint(err, "\n", strings.Join(v.Sentences, "\n"))
			for _, m := range re.FindAllStringSubmatch(last, -1) {
				if c.agree(m[1:], times) {
					return true
				}
			}
			return false
		}) {
			c.t.Errorf("after %v, %s does not say %q with %v: it says %s", time.Since(began), n.Name, pattern, times, last)
		}
	}
	c.t.Logf("told after %v: %s", time.Since(began).Round(10*time.Millisecond), pattern)
}

// agree reports whether each of the texts is the time of a fault, to the second.
func (c *Cluster) agree(texts []string, times []time.Time) bool {
	for i, at := range times {
		day := at.UTC().Format(time.DateOnly)
		got, err := time.Parse("2006-01-02 15:04:05Z", day+" "+texts[i])
		if err != nil || at.Sub(got).Abs() > 1500*time.Millisecond {
			return false
		}
	}
	return true
}
