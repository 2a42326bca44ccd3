package backend

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// full is a store without room for submissions.
type full struct{ unbounded }

func (full) Used() (used, quota int64) { return 90, 100 }

// The API compares the payloads of both submissions.
func TestARepeatedSubmissionBeyondABoundGetsTheWholeRun(t *testing.T) {
	b := inMemory(t)
	b.define(t, "pay", `{"command":["true"]}`)
	now := time.Now().UTC()
	s := api.Submission{Job: "pay", Kind: job.KindManual, Asked: now, Due: now, Key: "k", Payload: json.RawMessage(`{"a":1}`)}
	first, _, err := b.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Space = full{}
	for _, state := range []job.State{job.Pending, job.Canceled} {
		again, created, err := b.Submit(t.Context(), s)
		if err != nil || created || again.State != state || string(again.Payload) != string(s.Payload) {
			t.Errorf("got %s with payload %q, created %v, %v, want it %s", again.State, again.Payload, created, err, state)
		}
		if !again.State.Terminal() {
			if _, err := b.Cancel(t.Context(), "pay", first.ID, job.Cancel{At: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
