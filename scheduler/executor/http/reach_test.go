package httpx_test

import (
	"bytes"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// The operator may not trust the author of a job with this machine. Then the job must neither reach the machine nor read its
// secrets, and the run is not tried again.
func TestAGuardedExecutorRefuses(t *testing.T) {
	url, got := target(t, func(http.ResponseWriter, *http.Request) {})
	key := files.Write(t, filepath.Join(t.TempDir(), "q1.key"), "bytes of the key")
	t.Setenv("DB_PASSWORD", "hunter2")
	execute := func(cfg httpx.Config, spec job.HTTP) (job.Outcome, string) {
		e := httpx.New(cfg, func() time.Time { return at })
		defer e.Close()
		var out bytes.Buffer
		o := e.Execute(t.Context(), request(spec, &out))
		return o, out.String()
	}
	open := httpx.Config{Reach: dial.New(dial.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)}
	for _, tt := range []struct {
		name string
		cfg  httpx.Config
		spec job.HTTP
		want string
	}{
		{"a loopback address", httpx.Config{Reach: dial.New(dial.Config{Setting: "worker.http"}, nil)}, job.HTTP{URL: url}, "loopback"},
		{"a metadata service", open, job.HTTP{URL: "http://169.254.169.254/latest/meta-data/"}, "metadata service"},
		{"rota itself", httpx.Config{Reach: dial.New(dial.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, func(netip.AddrPort) bool { return true })},
			job.HTTP{URL: url}, "rota itself"},
		{"a file", httpx.Config{Refs: &refs.Policy{Setting: "worker.refs"}}, job.HTTP{URL: url, Body: "${file:" + key + "}"}, "not in worker.refs.files"},
		{"a variable in a header", httpx.Config{Refs: &refs.Policy{Setting: "worker.refs"}}, job.HTTP{URL: url, Headers: map[string]string{"X": "${env:DB_PASSWORD}"}}, "not in worker.refs.env"},
		{"a variable in the URL", httpx.Config{Refs: &refs.Policy{Setting: "worker.refs"}}, job.HTTP{URL: url + "/${env:DB_PASSWORD}"}, "not in worker.refs.env"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, out := execute(tt.cfg, tt.spec)
			if o.State != job.Failed || o.Retry || !strings.Contains(o.Reason, tt.want) {
				t.Errorf("got %+v, want a failure without another attempt that says %q", o, tt.want)
			}
			if leaked := o.Reason + out; strings.Contains(leaked, "hunter2") || strings.Contains(leaked, "bytes of the key") {
				t.Errorf("a secret leaks: %q", leaked)
			}
		})
	}
	if n := len(got()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	if o, _ := execute(open, job.HTTP{URL: url}); o.State != job.Succeeded {
		t.Errorf("an address that is allowed: got %+v", o)
	}
}
