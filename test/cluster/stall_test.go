package cluster

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/history"
)

// TestAMachineThatStandsStillIsAFault stops this process for a moment, as a suspended machine stops all of them. It is not parallel, so
// no other test runs meanwhile.
func TestAMachineThatStandsStillIsAFault(t *testing.T) {
	c := &Cluster{t: t}
	c.watchMachine()
	began := time.Now()
	// A process that is stopped cannot continue itself.
	other := exec.Command("sh", "-c", `kill -STOP "$1"; sleep 2.5; kill -CONT "$1"`, "sh", strconv.Itoa(os.Getpid()))
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	Await(t, 10*time.Second, "the fault is recorded", func() bool { return len(c.Faults()) > 0 })
	if f := c.Faults()[0]; f.Kind != history.Pause || f.Node != "" || f.At.Before(began.Add(-stall)) || f.Until.Sub(f.At) < stall {
		t.Errorf("got %+v, want a pause of every node for %v", f, stall)
	}
}
