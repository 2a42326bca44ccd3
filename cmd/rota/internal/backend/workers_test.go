package backend

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A client that may see workers need not see all jobs.
func TestAWorkerNamesNoRuns(t *testing.T) {
	w := &job.Worker{Name: "w1", Keeps: []string{"pay/1"}}
	e, ok := new(Backend).event(job.Change{Kind: job.RecordWorker, Name: "w1", Rev: 7, Value: w})
	if !ok || strings.Contains(string(e.Value), "pay/1") || !strings.Contains(string(e.Value), `"revision":7`) {
		t.Errorf("the event of a worker is %s", e.Value)
	}
	if w.Keeps == nil {
		t.Error("the record was changed")
	}
}
