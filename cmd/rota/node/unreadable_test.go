package node

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// garble writes an unreadable value to a key.
func (r *running) garble(t testing.TB, key string) {
	t.Helper()
	if _, err := r.node.client.Put(t.Context(), key, "x"); err != nil {
		t.Fatal(err)
	}
	eventually(t, key+" is set aside", func() bool { return strings.Contains(r.aside(t), key) })
}

// aside returns the keys of the records in quarantine.
func (r *running) aside(t testing.TB) string {
	v, err := r.Cluster(t.Context())
	if err != nil {
		return err.Error()
	}
	var keys []string
	for _, q := range v.Quarantined {
		keys = append(keys, q.Key)
	}
	return strings.Join(keys, " ")
}

func TestAnUnreadableRecordDoesNotHoldUpTheJobFiles(t *testing.T) {
	t.Parallel()
	etcd, path := etcd(t), filepath.Join(t.TempDir(), "jobs.yaml")
	const limits = "limits: {database: {concurrent: 4}}\n"
	files.Replace(t, path, limits+files.Jobs("first", "x", "y"))
	r := withFiles(t, "q1", etcd, path)
	r.wantJobs(t, "x=first y=first")

	t.Run("a limit", func(t *testing.T) {
		r.garble(t, "/rota/limits/database")
		files.Replace(t, path, limits+files.Jobs("second", "x", "y"))
		r.wantJobs(t, "x=second y=second")
		eventually(t, "the limit is as the file says", func() bool {
			l, err := r.node.store.Limit(t.Context(), "database")
			return err == nil && l.Spec.Concurrent == 4
		})
	})
	t.Run("the mark of the files in force", func(t *testing.T) {
		before := r.node.mirror.Files()
		r.garble(t, "/rota/files")
		files.Replace(t, path, limits+files.Jobs("third", "x", "y"))
		r.wantJobs(t, "x=third y=third")
		if after := r.node.mirror.Files(); after.By != "q1" || len(after.History) != 2 || after.History[0] != before.Hash {
			t.Errorf("got %+v, want one that still knows what is older, %+v", after, before)
		}
	})
	t.Run("the same while the files rest", func(t *testing.T) {
		before := r.node.mirror.Files()
		r.garble(t, "/rota/files")
		r.reload <- nil // faster than to wait for a poll
		eventually(t, "the mark is there again", func() bool {
			after := r.node.mirror.Files()
			return after.Hash == before.Hash && len(after.History) == len(before.History)
		})
	})
	t.Run("a job", func(t *testing.T) {
		r.garble(t, "/rota/jobs/x")
		files.Replace(t, path, limits+files.Jobs("fourth", "x", "y"))
		r.wantJobs(t, "y=fourth")
	})
}

func TestAnUnreadableLimitIsReplacedThroughTheAPI(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	r := start(t, Config{Settings: set, Version: version})
	r.garble(t, "/rota/limits/licence")
	if v, err := r.PutLimit(t.Context(), "licence", job.LimitSpec{Concurrent: 2}, api.Precondition{}); err != nil || v.Spec.Concurrent != 2 {
		t.Errorf("put: got %+v, %v", v, err)
	}
	r.garble(t, "/rota/limits/licence")
	if err := r.DeleteLimit(t.Context(), "licence", api.Precondition{}); err != nil {
		t.Errorf("delete: got %v", err)
	}
	eventually(t, "nothing is set aside", func() bool { return r.aside(t) == "" })
}

func TestAPauseOfAllOutlivesItsRecord(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	r := start(t, Config{Settings: set, Version: version})
	r.lead(t)
	r.put(t, "j", job.Spec{Shell: "true"})
	if _, err := r.PauseAll(t.Context(), "upgrade"); err != nil {
		t.Fatal(err)
	}
	r.garble(t, "/rota/gate")
	if v, err := r.Cluster(t.Context()); err != nil || v.Paused == nil || v.Paused.Reason != "upgrade" {
		t.Errorf("the replica that has read it: got %+v, %v, want the pause that it knows", v.Paused, err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}

	r = start(t, Config{Settings: set, Version: version})
	r.lead(t)
	if v, err := r.Cluster(t.Context()); err != nil || v.Paused == nil || !strings.Contains(v.Paused.Reason, "is unreadable") {
		t.Errorf("the next replica: got %+v, %v, want a pause that says why", v.Paused, err)
	}
	run := r.submit(t, "j", api.RunRequest{}).Ref
	r.waitsFor(t, run, "paused")
	if _, err := r.ResumeAll(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	r.ends(t, run, job.Succeeded)

	r.garble(t, "/rota/gate")
	r.ends(t, r.submit(t, "j", api.RunRequest{}).Ref, job.Succeeded) // the gate does not pause jobs
	if g, err := r.PauseAll(t.Context(), "again"); err != nil || g.Paused == nil || g.Since.IsZero() {
		t.Errorf("pause: got %+v, %v", g, err)
	}
	if got := r.aside(t); got != "" {
		t.Errorf("still set aside: %s", got)
	}
}
