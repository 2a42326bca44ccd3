package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestExplainOfADeletedJob(t *testing.T) {
	fake := newFakeCluster()
	delete(fake.jobs, "ok")
	s := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(s.Close)
	for _, tc := range []struct {
		job, time string
		code      int
		out, err  string
	}{
		{"ok", "2026-01-31T02:30:00+01:00", exitOK, "It ran.", "does not exist any more"},
		{"ok", "2026-01-31 01:30", exitOK, "It ran.", "a time without a zone is UTC"},
		{"ok", "2026-01-31 02:30", exitNotFound, "", `no job "ok"`},
		{"never", "2026-01-31 01:30", exitNotFound, "", `no job "never"`},
	} {
		t.Run(tc.job+" "+tc.time, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"explain", tc.job, tc.time, "--server", s.URL}, strings.NewReader(""), &stdout, &stderr)
			if code != tc.code || !strings.Contains(stdout.String(), tc.out) || !strings.Contains(stderr.String(), tc.err) {
				t.Errorf("got exit code %d, want %d, and\n%s%s", code, tc.code, &stdout, &stderr)
			}
		})
	}
}
