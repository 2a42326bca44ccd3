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
