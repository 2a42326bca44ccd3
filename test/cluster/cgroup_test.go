package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
)

// TestTenTimesTheLoadInAMemoryCgroup submits ten times the runs that a worker with little memory can execute, through three
// replicas. No bound is passed, and the worker's memory stays flat. Then the refused submissions are accepted with the same keys.
func TestTenTimesTheLoadInAMemoryCgroup(t *testing.T) {
	row(t)
	t.Parallel()
	const (
		capacity  = 2
		lasts     = 200 * time.Millisecond
		perSecond = 10 * capacity * int(time.Second/lasts)
		clients   = 20
		overload  = 6 * time.Second
		most, all = 30, 50 // waiting runs of one job, and of all jobs
		limit     = 32 << 20
		slack     = 4 << 20 // pages of the program that it reads late
	)
	sink := NewSink(t)
	sink.Delay(lasts)
	spec := job.Spec{HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Overlap: job.OverlapAllow}
	bounded := spec
	bounded.MaxPending = most
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"pay": bounded, "other": spec}, Flags: func(string) []string {
		return []string{fmt.Sprintf("--bounds-waiting=%d", all), "--worker-enabled=false"}
	}})
	jobOf := func(client int) string { return []string{"pay", "other"}[client%2] }
	w := c.AddWorker("w1", fmt.Sprintf("--worker-capacity=%d", capacity))
	enclose(t, w, limit)

	end := time.Now().Add(overload)
	var wg sync.WaitGroup
	refused := make([][]string, clients)
	for i := range clients {
		wg.Go(func() {
			pace := time.NewTicker(time.Second * clients / time.Duration(perSecond))
			defer pace.Stop()
			for n := 0; time.Now().Before(end); n++ {
				if key := fmt.Sprintf("%d-%d", i, n); submitOnce(t, c.Replicas()[i%3], jobOf(i), key) != nil {
					refused[i] = append(refused[i], key)
				}
				<-pace.C
			}
		})
	}
	var peaks [2]float64 // of the worker's memory in both halves of the load
	for time.Now().Before(end) && w.Running() {
		half := 0
		if time.Until(end) < overload/2 {
			half = 1
		}
		peaks[half] = max(peaks[half], w.Metric("process_resident_memory_bytes"))
		Let(100 * time.Millisecond)
	}
	wg.Wait()
	again := 0
	for _, keys := range refused {
		again += len(keys)
	}
	t.Logf("%d runs, %d refused submissions, peaks of the worker's memory: %.1f MiB", len(sink.Requests()), again,
		[]float64{peaks[0] / (1 << 20), peaks[1] / (1 << 20)})
	if again < 3*len(sink.Requests()) {
		t.Errorf("%d submissions were refused and %d runs executed: there is no overload", again, len(sink.Requests()))
	}
	if peaks[1] > peaks[0]+slack {
		t.Errorf("the memory of the worker was up to %.0f bytes, and later %.0f", peaks[0], peaks[1])
	}
	if !w.Running() || w.Metric("rota_worker_sessions_lost_total") > 0 {
		t.Fatal("the worker ended, or lost its session")
	}

	sink.Delay(0)
	for i, keys := range refused {
		wg.Go(func() {
			for _, key := range keys {
				if !Within(time.Minute, func() bool { return submitOnce(t, c.Replicas()[i%3], jobOf(i), key) == nil }) {
					t.Errorf("%s is still refused", key)
				}
			}
		})
	}
	wg.Wait()
	c.AwaitEnd(time.Minute)
	c.Judge(sink.Requests(), nil, nil)
	for name, bound := range map[string]int{"pay": most, "": all} {
		if n := mostWaiting(c, name); n > bound || n < bound/2 {
			t.Errorf("up to %d runs of %q waited, want at most %d, and nearly as many", n, name, bound)
		}
	}
}

// enclose starts a worker again in a cgroup with a limit of its memory, which holds from the first instruction of rota.
func enclose(t *testing.T, w *Node, limit int64) {
	t.Helper()
	const hierarchy = "/sys/fs/cgroup/memory"
	if _, err := os.Stat(hierarchy + "/memory.limit_in_bytes"); err != nil || os.Getuid() != 0 {
		lacking.Report(t, "needs root and cgroups of memory in their own hierarchy (v1)")
	}
	group := fmt.Sprintf("%s/rota-test-%d", hierarchy, os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		lacking.Report(t, "needs a writable hierarchy of cgroups: %v", err)
	}
	t.Cleanup(func() {
		if w.Running() {
			w.Terminate()
		}
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	files.Write(t, filepath.Join(group, "memory.limit_in_bytes"), strconv.FormatInt(limit, 10))
	script := filepath.Join(t.TempDir(), "rota")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", group, w.binary)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	w.Terminate()
	w.binary = script
	w.Start()
	w.WaitReady()
}
