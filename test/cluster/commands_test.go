package cluster

import "strings"

// startAll starts the replicas that do not run, and waits until all are ready.
func (c *Cluster) startAll() {
	for _, n := range c.replicas {
		if !n.Running() {
			n.Start()
		}
	}
	c.WaitReady()
}

// notes returns what the cluster says about job files that are not in force.
func (c *Cluster) notes() string {
	v, err := c.Client.Cluster(c.t.Context())
	if err != nil {
		return ""
	}
	return strings.Join(v.Files.Notes, "\n")
}

// must runs the program against the first replica, and returns its output. want is its exit code.
func (c *Cluster) must(want int, args ...string) string {
	c.t.Helper()
	out, code := Command(c.t, binary, append(args, "--server="+c.Replicas()[0].URL)...)
	if code != want {
		c.t.Errorf("%v: got code %d, want %d\n%s", args, code, want, out)
	}
	return out
}
