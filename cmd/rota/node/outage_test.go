package node

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnUnreadableRecordIsNoOutage requests unreadable records. The answer names the key, and does not ask the client to retry.
func TestAnUnreadableRecordIsNoOutage(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	garble := func(name string) (rev int64) {
		t.Helper()
		resp, err := r.node.client.Put(t.Context(), "/rota/jobs/"+name, "{")
		if err != nil {
			t.Fatal(err)
		}
		rev = resp.Header.Revision
		if err := r.node.mirror.WaitFor(t.Context(), rev); err != nil {
			t.Fatal(err)
		}
		return rev
	}
	spec := job.Spec{Every: job.Duration(time.Hour), Command: []string{"true"}}
	r.put(t, "j", spec)
	garble("j")
	if _, err := r.node.client.Put(t.Context(), "/rota/runs/j/x", "x"); err != nil {
		t.Fatal(err)
	}

	for what, tc := range map[string]struct {
		key string
		ask func(ctx context.Context) error
	}{
		"a run":        {"/rota/runs/j/x", func(ctx context.Context) error { _, err := r.Run(ctx, "j/x"); return err }},
		"its cancel":   {"/rota/runs/j/x", func(ctx context.Context) error { _, err := r.Cancel(ctx, "j/x", ""); return err }},
		"a job":        {"/rota/jobs/j", func(ctx context.Context) error { _, err := r.Job(ctx, "j"); return err }},
		"its slots":    {"/rota/jobs/j", func(ctx context.Context) error { _, err := r.Next(ctx, "j", time.Time{}, 1); return err }},
		"its pause":    {"/rota/jobs/j", func(ctx context.Context) error { _, err := r.PauseJob(ctx, "j", ""); return err }},
		"a PUT":        {"/rota/jobs/j", func(ctx context.Context) error { _, _, err := r.PutJob(ctx, "j", spec, api.Precondition{}); return err }},
		"a DELETE":     {"/rota/jobs/j", func(ctx context.Context) error { return r.DeleteJob(ctx, "j", api.Precondition{}) }},
		"a submission": {"/rota/jobs/j", func(ctx context.Context) error { _, _, err := r.Submit(ctx, "j", api.RunRequest{}); return err }},
	} {
		err := tc.ask(t.Context())
		if status(err) != 409 || !errors.Is(err, job.ErrConflict) || !strings.Contains(err.Error(), tc.key+":") || !strings.Contains(err.Error(), "etcdctl") {
			t.Errorf("%s: got %v (%d), want a conflict that names %s and says what to do", what, err, status(err), tc.key)
		}
	}
	if why, err := r.Explain(t.Context(), "j", time.Now()); err != nil || why.Verdict != "unreadable" {
		t.Errorf("explain: got %+v, %v", why, err)
	}

	t.Run("a write that names its revision repairs it", func(t *testing.T) {
		rev := garble("j")
		if _, _, err := r.PutJob(t.Context(), "j", spec, api.Precondition{Revision: rev - 1}); status(err) != 412 {
			t.Errorf("at another revision: got %v, want 412", err)
		}
		v, created, err := r.PutJob(t.Context(), "j", spec, api.Precondition{Revision: rev})
		if err != nil || created || v.Generation != 1 {
			t.Errorf("got %+v (created: %v), %v", v, created, err)
		}
		if _, err := r.Job(t.Context(), "j"); err != nil {
			t.Errorf("after that: %v", err)
		}
	})
	t.Run("a removal that names its revision succeeds", func(t *testing.T) {
		if err := r.DeleteJob(t.Context(), "j", api.Precondition{Revision: garble("j")}); err != nil {
			t.Error(err)
		}
		if _, err := r.Job(t.Context(), "j"); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("after that: got %v, want %v", err, job.ErrNotFound)
		}
	})
}
