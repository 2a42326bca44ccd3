package backend

import (
	"context"
	"strings"
	"testing"
	"time"

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

// A worker that accepts no run has no free place.
func TestOnlyAWorkerThatAcceptsRunsIsFree(t *testing.T) {
	b := inMemory(t)
	want := map[string]int{"ready": 4, "drains": 0, "away": 0}
	for name := range want {
		w := job.Worker{Name: name, Addr: "127.0.0.1:1", Capacity: 4, Kinds: []string{"container"}, Draining: name == "drains"}
		if name == "away" {
			w.Away = map[string]string{"container": "no engine answers"}
		}
		p, err := b.store.PresentWorker(t.Context(), w, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close(context.Background()) })
	}
	got, err := b.client.Get(t.Context(), "/rota/workers/x")
	if err == nil {
		err = b.mirror.WaitFor(t.Context(), got.Header.Revision)
	}
	views, listErr := b.Workers(t.Context())
	if err != nil || listErr != nil || len(views) != len(want) {
		t.Fatalf("got %+v (%v, %v)", views, err, listErr)
	}
	for i := range views {
		if w := &views[i]; w.Free != want[w.Name] {
			t.Errorf("%s: got %d free places, want %d", w.Name, w.Free, want[w.Name])
		}
	}
}
