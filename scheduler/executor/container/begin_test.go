package container

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAShortProgramIsStartedOnce lets the engine start a container that ends at once, and lose its answer.
func TestAShortProgramIsStartedOnce(t *testing.T) {
	starts := 0 // the calls of one attempt follow each other
	answer := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"Id":"c1"}`))
		case strings.HasSuffix(r.URL.Path, "/start"):
			starts++
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		case strings.HasSuffix(r.URL.Path, "/c1/json"):
			_, _ = w.Write([]byte(`{"Id":"c1","State":{"Status":"exited"}}`))
		default:
			_, _ = w.Write([]byte(`{}`))
		}
	}
	e := withEngine(t, answer)
	req := executor.Request{
		Run: job.Run{Job: "pay", ID: "1", Attempt: 1}, Spec: job.Spec{Container: &job.Container{Image: "pay", Pull: job.PullNever}},
	}
	s, err := e.begin(t.Context(), &req, &creation{})
	if err != nil || s == nil || !s.began() {
		t.Fatalf("begin: %+v, %v", s, err)
	}
	if starts != 1 {
		t.Errorf("the container was started %d times", starts)
	}
}

// withEngine returns an executor whose engine gives these answers.
func withEngine(t *testing.T, answer http.HandlerFunc) *Executor {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: answer, ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-served })
	return New(Config{Socket: socket, Cluster: "c"}, time.Now)
}

// TestAContainerThatItsWorkerEndsIsNotAdopted lets the worker of the earlier attempt rename a container after this one has seen it.
func TestAContainerThatItsWorkerEndsIsNotAdopted(t *testing.T) {
	req := executor.Request{
		Run:  job.Run{Job: "pay", ID: "1", Attempt: 2, Attempts: []job.Attempt{{Number: 1, State: job.Lost}}},
		Spec: job.Spec{Container: &job.Container{Image: "pay"}}, Output: io.Discard,
	}
	name := stem("c", req.Run.Name()) + "1"
	removed := false
	e := withEngine(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/containers/json"):
			_, _ = w.Write([]byte(`[{"Id":"c1"}]`))
		case strings.HasSuffix(path, "/c1/json"):
			_, _ = fmt.Fprintf(w, `{"Id":"c1","Name":"/%s","State":{"Status":"running","Running":true,"StartedAt":"2026-11-28T12:00:00Z"}}`, name)
			name = strings.TrimSuffix(name, endedSuffix) + endedSuffix
		case strings.HasSuffix(path, "/c1/rename"), strings.HasSuffix(path, "/"+name+"/rename"):
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(path, "/rename"):
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"message":"no such container"}`))
		case r.Method == http.MethodDelete:
			removed = strings.HasSuffix(path, "/c1")
		}
	})
	s, err := e.adopt(t.Context(), &req, io.Discard)
	if err != nil || s != nil || !removed {
		t.Errorf("got %+v, %v, removed: %v", s, err, removed)
	}
}
