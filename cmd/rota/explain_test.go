package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
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

// unreadableJobs has jobs whose records are unreadable.
type unreadableJobs struct{ *fakeCluster }

func (unreadableJobs) Job(context.Context, string) (api.JobView, error) {
	return api.JobView{}, fmt.Errorf("%w: /rota/jobs/ok", job.ErrUnreadable)
}

func TestExplainOfAnUnreadableJob(t *testing.T) {
	fake := newFakeCluster()
	back := fake.backend()
	back.Replica = unreadableJobs{fake}
	s := httptest.NewServer(api.New(api.DefaultConfig(), back, hclog.NewNullLogger()).Handler())
	t.Cleanup(s.Close)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"explain", "ok", "2026-01-31 01:30", "--server", s.URL}, strings.NewReader(""), &stdout, &stderr)
	if text := stderr.String(); code != exitOK || strings.Contains(text, "does not exist") || !strings.Contains(text, "job ok cannot be read") {
		t.Errorf("got exit code %d, %s", code, text)
	}
}
