package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestNastyJobs runs programs that ignore SIGTERM, leave their group and their session, print a gigabyte, and never end. Their
// timeout ends them with all their children, their output is cut, and the worker continues with other jobs.
func TestNastyJobs(t *testing.T) {
	row(t)
	t.Parallel()
	// Unique arguments, so that the test finds these processes under any parent.
	mark := fmt.Sprintf("1000.%09d", rand.IntN(1e9))
	deaf := "trap '' TERM INT HUP; sleep " + mark + "1 & (setsid sh -c \"trap '' TERM; setsid sleep " + mark + "2 & sleep " + mark + "3\" &) ; " +
		"while :; do sleep " + mark + "4; done"
	const gigabyte = 1 << 30
	loud := fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; while :; do sleep %s5; done", gigabyte, mark)
	ledger := NewLedger(t)
	nasty := job.Spec{Timeout: job.Duration(15 * time.Second), KillGrace: job.Duration(time.Second)}
	deafSpec, loudSpec, bombSpec := nasty, nasty, nasty
	deafSpec.Shell, loudSpec.Shell = ledger.Shell(deaf), ledger.Shell(loud)
	bombSpec.Shell = ledger.Shell("i=0; while [ $i -lt 200 ]; do sleep " + mark + "6 & i=$((i+1)); done; wait")
	c := Start(t, Config{Binary: binary, Replicas: 1, Flags: idle, Jobs: map[string]job.Spec{
		"deaf": deafSpec, "loud": loudSpec, "forks": bombSpec,
		"tick": {Every: job.Duration(time.Second), Missed: job.MissedAll, Shell: ledger.Shell("")},
	}})
	w := c.AddWorker("w1")
	pid := w.PID()
	names := []string{"deaf", "loud", "forks"}
	for _, name := range names {
		submit(t, c, name, api.RunRequest{})
	}
	Await(t, 20*time.Second, "all of them are at it", func() bool {
		found := strings.Join(Processes(t, mark), "\n")
		for i := 1; i <= 4; i++ {
			if !strings.Contains(found, "sleep "+mark+strconv.Itoa(i)) {
				return false
			}
		}
		return strings.Count(found, "sleep "+mark+"6") > 100
	})
	for _, name := range names {
		Await(t, 60*time.Second, name+" is ended by its timeout", func() bool { return onlyRun(t, c, name).State == job.TimedOut })
	}
	if !Within(10*time.Second, func() bool { return len(Processes(t, mark)) == 0 }) {
		t.Errorf("processes live on: %q", Processes(t, mark))
	}

	var kept int64
	err := filepath.Walk(filepath.Join(c.Dir, "w1", "output"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			kept += info.Size()
		}
		return err
	})
	if err != nil || kept < 15<<20 || kept > 17<<20 {
		t.Errorf("%d bytes of a gigabyte are kept, %v; want 15 to 17 MiB", kept, err)
	}
	if n := len(onlyRun(t, c, "loud").Output); n == 0 || n > job.OutputTail {
		t.Errorf("%d bytes of output in the record, want some, and at most %d", n, job.OutputTail)
	}
	if w.PID() != pid || !w.Running() || w.Metric("rota_worker_sessions_lost_total") > 0 {
		t.Errorf("the worker is process %d, was %d, and lost %v sessions", w.PID(), pid, w.Metric("rota_worker_sessions_lost_total"))
	}
	if rss := memory(t, w.PID()); rss > 400<<20 {
		t.Errorf("the worker has %d MiB of memory after a gigabyte of output", rss>>20)
	}
	ticks := len(c.Recorder.Runs("tick"))
	Await(t, 20*time.Second, "other jobs continue", func() bool { return len(c.Recorder.Runs("tick")) > ticks+2 })
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.MayFail = j.Name != "tick" })
}

// memory returns the resident memory of a process in bytes.
func memory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
