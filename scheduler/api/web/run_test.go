package web

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A late run waited for a leader or behind another run. The page says which, in the words of the explanation.
func TestWaitedForSaysWhatWasInTheWay(t *testing.T) {
	late := func(r *api.RunView) { r.Late = true }
	limited := func(r *api.RunView) { r.Limits = []string{"database", "disk"} }
	const behind = "it waited behind run a/1, which ended at 2026-11-21T02:30:20Z"
	const nobody = "no leader could dispatch it in time"
	for name, tc := range map[string]struct {
		change      func(*api.RunView)
		why         api.ExplainView
		cause, text string
	}{
		"behind a run":         {late, api.ExplainView{Ref: "a/2", Late: behind, Behind: "a/1"}, "run before it", behind},
		"without a leader":     {late, api.ExplainView{Ref: "a/2", Late: nobody}, "leader", nobody},
		"of another run":       {late, api.ExplainView{Ref: "a/3", Late: nobody}, "leader", nobody + ", or it waited behind a late run"},
		"without explanation":  {late, api.ExplainView{}, "leader", nobody + ", or it waited behind a late run"},
		"in time, with limits": {limited, api.ExplainView{Ref: "a/2"}, "limit, room", "until the limits (database, disk) and a worker had room"},
		"in time":              {func(*api.RunView) {}, api.ExplainView{Ref: "a/2"}, "room", "until a worker had room"},
	} {
		t.Run(name, func(t *testing.T) {
			v := api.NewRunView(job.Run{Job: "a", ID: "2"})
			tc.change(&v)
			if cause, text := waitedFor(&v, &tc.why); cause != tc.cause || text != tc.text {
				t.Errorf("got %q, %q, want %q, %q", cause, text, tc.cause, tc.text)
			}
		})
	}
}
