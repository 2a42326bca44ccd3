package cluster

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// TestRestartGoesOn interrupts a `rota dev` as a user at a terminal does. Everything ends at once, and the next start continues
// from there, with each job's policy for missed slots.
func TestRestartGoesOn(t *testing.T) {
	slow(t)
	mark := fmt.Sprintf("1000.%09d", rand.IntN(1e9))
	ledger := NewLedger(t)
	every := job.Duration(time.Second)
	c := StartDev(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"none":   {Every: every, Missed: job.MissedNone, Shell: ledger.Shell("")},
		"latest": {Every: every, Missed: job.MissedLatest, Shell: ledger.Shell("")},
		"all":    {Every: every, Missed: job.MissedAll, Shell: ledger.Shell("")},
		"long":   {Shell: ledger.Shell("if [ $ROTA_ATTEMPT = 1 ]; then sleep " + mark + "; fi")},
	}})
	dev := c.Replicas()[0]
	Await(t, 20*time.Second, "the long run is submitted", func() bool { // the files come into force when a replica leads
		_, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{Key: "once"})
		return err == nil
	})
	Await(t, 20*time.Second, "the long run executes", func() bool { return len(Processes(t, "sleep "+mark)) > 0 })
	for _, name := range []string{"none", "latest", "all"} {
		Await(t, 20*time.Second, "job "+name+" runs", func() bool { return len(succeeded(c, name)) >= 3 })
	}

	over := c.Outage() // nothing is dispatched until the next start
	interrupted := time.Now()
	dev.Signal(syscall.SIGINT)
	code := dev.Await(15 * time.Second)
	took := time.Since(interrupted)
	if want := 128 + int(syscall.SIGINT); code != want && code != 0 {
		t.Errorf("exit code after an interrupt: got %d, want %d or 0", code, want)
	}
	if took > 8*time.Second {
		t.Errorf("an interrupted rota dev took %v to end, want at most 8 s: 3 s of grace, and the rest", took)
	}
	t.Logf("ended %v after the interrupt", took.Round(10*time.Millisecond))
	// When rota dev ended, it killed the attempt of the long run, because its grace period is shorter than the run.
	c.Harm(history.Fault{Kind: history.Kill, Node: "q1", At: time.Now()})
	if left := Processes(t, "sleep "+mark); len(left) > 0 {
		t.Errorf("processes live on: %q", left)
	}
	if left := Descendants(t, c.mark()); len(left) > 0 {
		t.Errorf("processes live on: %q", left)
	}

	stopped := time.Now()
	Let(6 * time.Second)
	restarted := time.Now()
	dev.Start()
	c.WaitReady()
	over()
	Await(t, 30*time.Second, "all jobs continue", func() bool {
		for _, name := range []string{"none", "latest", "all"} {
			if after := succeeded(c, name).between(restarted.Add(5*time.Second), time.Now()); len(after) < 2 {
				return false
			}
		}
		return onlyRun(t, c, "long").State.Terminal()
	})
	missed := int(restarted.Sub(stopped).Seconds())
	if n := len(succeeded(c, "none").between(stopped, restarted)); n != 0 {
		t.Errorf("missed: none made up for %d slots", n)
	}
	if n := len(succeeded(c, "latest").between(stopped, restarted)); n > 1 {
		t.Errorf("missed: latest made up for %d slots, want the last", n)
	}
	if n := late(c, "latest"); n < 1 || n > 2 {
		t.Errorf("missed: latest has %d late runs, want 1, or 2 if the next slot had to wait for it", n)
	}
	if n := late(c, "none"); n != 0 {
		t.Errorf("missed: none has %d late runs", n)
	}
	if n := len(succeeded(c, "all").between(stopped, restarted)); n < missed-1 {
		t.Errorf("missed: all made up for %d slots of about %d", n, missed)
	}
	if r := onlyRun(t, c, "long"); r.State != job.Succeeded || r.Attempt != 2 {
		t.Errorf("long run: got %s after attempt %d (%s), want succeeded after the second", r.State, r.Attempt, r.Reason)
	}
	c.Recovery = 5 * time.Second
	c.Check(ledger.Effects, nil, func(j *history.Job) { j.Tolerance = 2 * time.Second })
}

// slots are the slots of a job's runs.
type slots []time.Time

// between returns the slots after from and up to to.
func (s slots) between(from, to time.Time) (some slots) {
	for _, at := range s {
		if at.After(from) && !at.After(to) {
			some = append(some, at)
		}
	}
	return some
}

func succeeded(c *Cluster, name string) (s slots) {
	for _, r := range c.Recorder.Runs(name) {
		if r.State == job.Succeeded {
			s = append(s, r.Slot)
		}
	}
	return s
}

// late counts the runs of slots that passed while nothing could dispatch.
func late(c *Cluster, name string) (n int) {
	for _, r := range c.Recorder.Runs(name) {
		if r.Late {
			n++
		}
	}
	return n
}
