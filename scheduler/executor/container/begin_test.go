package container

import (
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
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
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
	srv := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-served })
	e := New(Config{Socket: socket, Cluster: "c"}, time.Now)
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
