package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestUpgradeAndScale starts one replica with an external etcd, scales to five, replaces them one at a time by another build of
// rota, and scales down to two, including the leader. No slot is missed or repeated.
func TestUpgradeAndScale(t *testing.T) {
	row(t)
	t.Parallel()
	next, err := build(filepath.Join(scratch, "rota-next"), "-ldflags=-s -w")
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(t)
	sink.Delay(300 * time.Millisecond) // so that each replica has requests under way when it stops
	jobs := sink.Posts(20, job.Spec{})
	c := Start(t, Config{Binary: binary, Replicas: 1, Jobs: jobs, Etcd: []string{startEtcd(t, 1<<30)}})
	Await(t, 20*time.Second, "jobs run", func() bool { return len(sink.Requests()) > 40 })
	for i := 2; i <= 5; i++ {
		n := c.makeReplica(fmt.Sprintf("q%d", i))
		n.Start()
		n.WaitReady()
	}
	var urls []string
	for _, n := range c.Replicas() {
		urls = append(urls, n.URL)
	}
	c.Client = newClient(t, strings.Join(urls, ","), "")

	for _, n := range c.Replicas() {
		n.Terminate()
		n.binary = next
		n.Start()
		n.WaitReady()
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", n.PID())); err != nil || exe != next {
			t.Errorf("%s executes %s after its upgrade, %v, want %s", n.Name, exe, err, next)
		}
	}
	for range 3 {
		c.Leader().Terminate()
	}
	c.Leader()
	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+60 })
	c.Check(sink.Requests, nil, nil)
	if n := led(c); n < 4 {
		t.Errorf("slots were decided in %d terms, want at least 4: the leader has hardly changed", n)
	}
	if n := lost(c); n > 0 {
		t.Errorf("%d attempts were lost, although all replicas were asked to stop and had time", n)
	}
}
