package container

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestNamesOfContainers(t *testing.T) {
	run := job.Run{Job: "backup", ID: "2026-11-25T02:30:00Z", Attempt: 3}
	name := nameOf("c", &run)
	if attempt, ok := owner("c", run.Name(), name); !ok || attempt != 3 {
		t.Errorf("owner of %s: %d, %v", name, attempt, ok)
	}
	for _, other := range []string{name + endedSuffix, "by-hand", nameOf("other cluster", &run)} {
		if _, ok := owner("c", run.Name(), other); ok {
			t.Errorf("%s has an owner", other)
		}
	}
}

func TestNeeded(t *testing.T) {
	now := time.Date(2026, 11, 25, 2, 30, 0, 0, time.UTC)
	ended := func(state job.State) []job.Attempt { return []job.Attempt{{Number: 1, State: state}} }
	// after returns a run whose second attempt began some time ago. The clock of its worker is ahead.
	after := func(ago, ahead time.Duration) job.Run {
		at := now.Add(-ago)
		return job.Run{State: job.Running, Attempt: 2, Armed: at, Started: at.Add(ahead), Attempts: ended(job.Lost)}
	}
	for name, c := range map[string]struct {
		run  job.Run
		want bool
	}{
		"it executes":               {job.Run{State: job.Running, Attempt: 1, Started: now.Add(-time.Hour)}, true},
		"its run has ended":         {job.Run{State: job.Succeeded, Attempt: 1}, false},
		"its worker was lost":       {job.Run{State: job.Pending, Attempt: 1, Attempts: ended(job.Lost)}, true},
		"the next one is armed":     {job.Run{State: job.Armed, Attempt: 1, Attempts: ended(job.Lost)}, true},
		"it failed, and waits":      {job.Run{State: job.Pending, Attempt: 1, Attempts: ended(job.Failed)}, false},
		"the next one just began":   {after(time.Second, 0), true},
		"the next one is elsewhere": {after(time.Minute, 0), false},
		"its claim took a minute":   {after(time.Minute, 59*time.Second), true},
		"the other clock is ahead":  {after(time.Minute, time.Hour), false},
		"the other clock is behind": {after(time.Second, -time.Hour), true},
	} {
		if got := needed(&c.run, 1, now); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestMessages(t *testing.T) {
	frame := func(text string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, uint32(len(text))), text...)
	}
	at, text, err := message(bytes.NewReader(frame("2026-11-25T02:30:00.000000001Z hello world\n")))
	if err != nil || string(text) != "hello world\n" || at.Nanosecond() != 1 {
		t.Errorf("got %v, %q, %v", at, text, err)
	}
	for _, bad := range [][]byte{frame("hello"), frame("2026-11-25T02:30:00Z"), frame("")[:7], {1, 0, 0, 0, 255, 255, 255, 255}} {
		if _, text, err := message(bytes.NewReader(bad)); err == nil {
			t.Errorf("%q gives %q", bad, text)
		}
	}
}

// TestAStartWithoutAnAnswer covers an engine that falls silent.
func TestAStartWithoutAnAnswer(t *testing.T) {
	silent := absentError{errors.New("engine does not answer")}
	for name, c := range map[string]struct {
		err      error
		want     job.State
		notBegun bool
	}{
		"before the request to start":     {fmt.Errorf("create container: %w", silent), job.Lost, true},
		"when a refused one was removed":  {errors.Join(&startError{errors.New("no space left on device")}, silent), job.Failed, false},
		"never, but the start is refused": {&startError{errors.New("permission denied")}, job.Failed, false},
	} {
		if o := failure(c.err); o.State != c.want || o.NotBegun != c.notBegun || strings.Contains(o.Reason, job.NotBegun) != c.notBegun {
			t.Errorf("silent %s: got %+v", name, o)
		}
	}
}

func TestReasonsOfKilledContainers(t *testing.T) {
	for want, c := range map[string]struct {
		code  int
		known bool
		limit job.Size
	}{
		"killed: out of memory (limit 32MiB)": {137, true, 32 << 20},
		"killed: out of memory":               {137, true, 0},
		"exit code 137: killed by signal 9, perhaps for lack of memory (limit 32MiB)": {137, false, 32 << 20},
		"exit code 137: killed by signal 9":                                           {137, false, 0},
		"exit code 143: killed by signal 15":                                          {143, false, 32 << 20},
	} {
		req := executor.Request{Spec: job.Spec{Resources: &job.Resources{Memory: c.limit}}}
		var s state
		s.State.ExitCode, s.State.OOMKilled = c.code, c.known
		if o := outcome(&req, &s, false); o.State != job.Failed || o.Reason != want {
			t.Errorf("got %s, %q, want failed, %q", o.State, o.Reason, want)
		}
	}
}
