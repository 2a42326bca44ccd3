package container

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestASweepLeavesAContainerToItsAttempt lets the engine answer errors when an attempt wants to adopt a container, for longer than
// another worker would have needed. Meanwhile, the worker sweeps.
func TestASweepLeavesAContainerToItsAttempt(t *testing.T) {
	var out strings.Builder
	req := faultyRequest(&out)
	req.Run.State, req.Run.Attempt, req.Run.Attempts = job.Running, 2, []job.Attempt{{Number: 1, State: job.Lost}}
	req.Run.Armed = time.Now().Add(-2 * takeOver)
	req.Run.Started = req.Run.Armed
	asked, swept := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var removed, created bool
	name := stem("c", req.Run.Name()) + "1"
	e := withEngine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/containers/json"):
			_, _ = fmt.Fprintf(w, `[{"Id":"c1","Names":["/%s"],"Labels":{%q:%q}}]`, name, labelRun, req.Run.Name())
		case strings.HasSuffix(path, "/c1/json"):
			once.Do(func() { close(asked) })
			select {
			case <-swept:
				_, _ = fmt.Fprintf(w, `{"Id":"c1","Name":"/%s","State":{"Status":"exited"}}`, name)
			default:
				w.WriteHeader(http.StatusInternalServerError)
			}
		case strings.HasSuffix(path, "/archive"):
			w.WriteHeader(http.StatusNotFound)
		case strings.HasSuffix(path, "/create"):
			created = true
		case r.Method == http.MethodDelete:
			removed = true
		}
	})
	done := make(chan job.Outcome, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { done <- e.Execute(t.Context(), req) })
	<-asked
	records := func(context.Context, string, string) (job.Run, error) { return req.Run, nil }
	if err := e.sweep(t.Context(), records, hclog.NewNullLogger()); err != nil {
		t.Error(err)
	}
	close(swept)
	if o := <-done; o.State != job.Succeeded || removed || created {
		t.Errorf("got %+v, removed: %v, created: %v; want the outcome of the container", o, removed, created)
	}
}
