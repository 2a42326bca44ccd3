package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// A proxy that gets no output for long ends a stream as if it were complete. Later output of the attempt must not be lost.
func TestOutputContinuesAfterAProxyHasEndedItsStream(t *testing.T) {
	var streams atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/logs") {
			_, _ = io.WriteString(w, strings.Join([]string{"one\n", "two\n", "three\n"}[:min(streams.Add(1), 3)], ""))
			return
		}
		v := api.NewRunView(job.Run{Job: "ok", ID: "1", State: job.Running, Attempt: 1})
		if streams.Load() > 2 {
			v.State = job.Succeeded
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(server.Close)
	for name, more := range map[string][]string{"the run": nil, "one attempt": {"--attempt", "1"}} {
		streams.Store(0)
		var out, errs bytes.Buffer
		args := append([]string{"logs", "-f", "ok/1", "--server", server.URL}, more...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 || out.String() != "one\ntwo\nthree\n" {
			t.Errorf("%s: got %d, %q, %s, want all lines once", name, code, out.String(), errs.String())
		}
	}
}
