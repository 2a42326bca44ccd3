package top

import (
	"errors"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestTextsCannotDisturbTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer, عربي, 日本":                "plain, größer, عربي, 日本",
		"\x1b]0;title\a\u009b31m\r\n\x7f":        " ]0;title  31m   ",
		"a \u202eb\u202c c \u2066d\u2069 \u200d": "a  b  c  d  \u200d",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestNoViewDisturbsTheTerminal has a hostile text in every place that another process or person fills.
func TestNoViewDisturbsTheTerminal(t *testing.T) {
	const hostile = "\x1b]0;title\a\n\u202eb"
	disturbs := func(s *session, when string) {
		t.Helper()
		lines := strings.Split(s.View(), "\n")
		for _, line := range lines {
			for part := range strings.SplitSeq(line, "\x1b[") { // the styles of the view itself
				if strings.ContainsFunc(part, Disturbs) {
					t.Errorf("%s: got %q", when, line)
				}
			}
		}
		if len(lines) > 20 {
			t.Errorf("%s: got %d lines, want at most 20", when, len(lines))
		}
	}
	s := begin(t)
	s.send(Got{Snapshot{Err: errors.New(hostile)}, false})
	disturbs(s, "no answer")
	snap := snapshot(Query{})
	snap.Server, snap.Cluster.Leader = hostile, &api.LeaderView{Node: hostile}
	s.send(Got{snap, false})
	disturbs(s, "another leader")
	s.send(Got{Snapshot{At: noon, Err: errors.New(hostile)}, false})
	disturbs(s, "an old state")
	s.keys("enter")
	run := api.NewRunView(job.Run{Job: hostile, ID: hostile, State: job.Running, Worker: hostile, Reason: hostile})
	run.Attempts = []job.Attempt{{Worker: hostile, State: job.Failed, Reason: hostile}}
	s.send(Got{Snapshot{Query: s.Query(), At: noon, Runs: []api.RunView{run}}, false})
	disturbs(s, "a list of runs")
	s.keys("c")
	disturbs(s, "a question")
	s.send(Key("y"))
	disturbs(s, "a change that is being made")
	s.send(Done{Text: hostile}, Key("enter"))
	s.send(Got{Snapshot{Query: s.Query(), At: noon, Run: &run, Output: hostile}, false})
	disturbs(s, "one run")
}
