package httpx_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// drip answers with lines, one every quarter of a second. If long is true, the answer then continues for a long time without
// data.
func drip(t *testing.T, lines int, long bool) string {
	release := make(chan struct{})
	url, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		for range lines {
			select {
			case <-time.After(250 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
			io.WriteString(w, "working\n")
			w.(http.Flusher).Flush()
		}
		if long {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	t.Cleanup(func() { close(release) })
	return url
}

func TestTheResponseIsTheHeartbeat(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines int
		long  bool
		want  job.Outcome
	}{
		{"a response that drips", 8, false, job.Outcome{State: job.Succeeded, Exit: new(200)}},
		{"a response that stalls", 1, true, job.Outcome{State: job.TimedOut, Exit: new(200), Reason: "no heartbeat for 1.2s", Retry: true}},
		{"no response", 0, true, job.Outcome{State: job.TimedOut, Reason: "no heartbeat for 1.2s", Retry: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request(job.HTTP{URL: drip(t, tt.lines, tt.long)}, io.Discard)
			ctx, beat, stop := executor.WithHeartbeat(t.Context(), 1200*time.Millisecond)
			defer stop()
			req.Beat = beat
			o := newExecutor(t).Execute(ctx, req)
			if o.State != tt.want.State || o.Reason != tt.want.Reason || o.Retry != tt.want.Retry {
				t.Errorf("got %+v, want %+v", o, tt.want)
			}
		})
	}
}
