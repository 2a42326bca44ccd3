package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestRunInfoShowsTheEndOfTheOutput(t *testing.T) {
	var output strings.Builder
	for i := range 100 {
		fmt.Fprintf(&output, "line %d\n", i)
	}
	for _, tc := range []struct {
		wide        bool
		lines       int
		first, last string
	}{
		{false, 20, "line 80", "line 99"},
		{true, 100, "line 0", "line 99"},
	} {
		p := &page{out: &bytes.Buffer{}, now: time.Now(), wide: tc.wide}
		got := p.lastLines(output.String())
		if len(got) != tc.lines || got[0] != tc.first || got[len(got)-1] != tc.last {
			t.Errorf("wide %v: got %d lines from %q to %q, want %d from %q to %q",
				tc.wide, len(got), got[0], got[len(got)-1], tc.lines, tc.first, tc.last)
		}
	}
}

func TestRunInfoNamesTheWriter(t *testing.T) {
	for term, want := range map[int64]string{0: "Written: by request, revision 7", 3: "Written: by term 3, revision 7"} {
		out := &bytes.Buffer{}
		writeRun(&page{out: out, now: time.Now()}, &api.RunView{Run: job.Run{Job: "a", ID: "b", State: job.Canceled, Term: term}, Ref: "a/b", Revision: 7})
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("term %d: got %q, want it to say %q", term, got, want)
		}
	}
}

func TestRunInfoShowsCopies(t *testing.T) {
	of := job.Run{Job: "a", ID: "b", State: job.Pending}.SpreadOver([]string{"w1", "w2"}, time.Now())
	v := api.NewRunView(of)
	v.CopyRuns = []api.CopyView{{Worker: "w1", Ref: "a/b.w1", State: job.Succeeded}, {Worker: "w2", Ref: "a/b.w2", State: job.Failed, Reason: "exit code 1"}}
	c := of.Copy("w2", time.Now())
	copied := api.NewRunView(c)
	for _, tc := range []struct {
		view *api.RunView
		want string
	}{
		{&v, "WORKER STATE COPY REASON w1 succeeded a/b.w1 - w2 failed a/b.w2 exit code 1"},
		{&copied, "Copy of: a/b on worker w2"},
	} {
		out := &bytes.Buffer{}
		writeRun(&page{out: out, now: time.Now()}, tc.view)
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, tc.want) {
			t.Errorf("got %q, want it to say %q", got, tc.want)
		}
	}
}

func TestRunInfoSaysWhetherTheOutputIsWhole(t *testing.T) {
	for want, r := range map[string]job.Run{
		"\nOutput:\n  hello":                       {Output: "hello\n"},
		"\nOutput of the last attempt (`rota logs": {Output: "hello\n", Attempt: 2},
		"\nEnd of the output (`rota logs":          {Output: strings.Repeat("hello\n", 30)},
	} {
		var out bytes.Buffer
		v := api.NewRunView(r)
		writeRun(&page{out: &out, now: time.Now()}, &v)
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %q", &out, want)
		}
	}
}

func TestRunInfoShowsParentsAndOutputs(t *testing.T) {
	r := job.Run{Job: "report", ID: "x", State: job.Succeeded, Outputs: map[string]string{"rows": "12", "note": "a\nb"}, After: []job.Parent{
		{Job: "load", State: job.Succeeded}, {Job: "check", ID: "w", State: job.Failed}, {Job: "gone"},
	}}
	waits := job.Run{Job: "report", ID: "x", State: job.Pending, Due: job.WhenParentsEnd, After: []job.Parent{{Job: "load"}}}
	canceled := waits
	canceled.State = job.Canceled
	for want, r := range map[string]job.Run{
		"Follows: load/x (succeeded), check/w (failed), gone/x (no run)": r,
		"OUTPUT VALUE note a b rows 12":                                  r,
		"Follows: load/x (awaited)":                                      waits,
		"Follows: load/x (not awaited) Written":                          canceled,
	} {
		out, v := &bytes.Buffer{}, api.NewRunView(r)
		writeRun(&page{out: out, now: time.Now()}, &v)
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) {
			t.Errorf("got %q, want it to say %q", got, want)
		}
	}
}
