package jobfiles

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestARestartIsNoEdit lets two replicas edit their files at about the same time. One edit loses: it has never been in force. It
// must not be put in force when its replica starts again.
func TestARestartIsNoEdit(t *testing.T) {
	for name, hears := range map[string]bool{"after it heard that it lost": true, "before it heard, since it was cut off": false} {
		t.Run(name, func(t *testing.T) {
			c := client(t)
			file1, file2 := filepath.Join(t.TempDir(), "jobs.yaml"), filepath.Join(t.TempDir(), "jobs.yaml")
			files.Replace(t, file1, files.Jobs("old", "x"))
			files.Replace(t, file2, files.Jobs("old", "x"))
			q1, _ := beside(t, c, file1, dataDir(t, "q1"))
			q1.enforced(t)
			q1.wantJobs(t, "x=old")

			dir := dataDir(t, "q2")
			q2, end := beside(t, c, file2, dir)
			q2.enforced(t)
			q2.edit(t, files.Jobs("lost", "x"))
			q1.edit(t, files.Jobs("won", "x", "added"))
			q1.enforced(t)
			q1.wantJobs(t, "added=won x=won")
			if hears {
				if q2.enforced(t); !strings.Contains(q2.behind, "q1 put other files in force after the edit") {
					t.Fatalf("got %q, want an edit that lost", q2.behind)
				}
			}
			end()

			q2, _ = beside(t, c, file2, dir)
			if q2.enforced(t); !strings.Contains(q2.note, "q1") {
				t.Errorf("the restarted replica shows %q, want that q1's files are in force", q2.note)
			}
			q2.wantJobs(t, "added=won x=won")
			q2.edit(t, files.Jobs("now", "x"))
			q2.enforced(t)
			q1.wantJobs(t, "x=now")
		})
	}
}

// TestEditsWhileAReplicaIsAway stops a replica, which loses its disk. Meanwhile there are more edits than a short list would
// hold.
func TestEditsWhileAReplicaIsAway(t *testing.T) {
	c := client(t)
	file1, file2 := filepath.Join(t.TempDir(), "jobs.yaml"), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file1, files.Jobs("old", "x"))
	files.Replace(t, file2, files.Jobs("old", "x"))
	q1, _ := beside(t, c, file1, dataDir(t, "q1"))
	for n := range 61 {
		q1.enforced(t)
		q1.edit(t, files.Jobs(fmt.Sprint(n), "x"))
	}
	q2, _ := beside(t, c, file2, dataDir(t, "q2"))
	if q2.enforced(t); q2.note != "older than the files in force, which q1 applied" {
		t.Errorf("the replica shows %q", q2.note)
	}
	q1.wantJobs(t, "x=59")
}

// TestWhichFilesAreOlder tries each memory that a replica may have of its set while another set is in force.
func TestWhichFilesAreOlder(t *testing.T) {
	dir := dataDir(t, "q1")
	fresh := func() *replica {
		r := alone("", dir)
		r.set = &config.Set{Hash: "mine"}
		r.recall()
		return r
	}
	other := func(rev int64, history ...string) job.Files {
		return job.Files{Hash: "other", By: "q2", Rev: rev, History: history}
	}
	for _, tt := range []struct {
		name    string
		knows   *memory // nil: the replica has no memory
		current job.Files
		older   bool
	}{
		{"never seen", nil, other(10), false},
		{"never seen, but once in force", nil, other(10, "mine"), true},
		{"never seen, and nothing in force", nil, job.Files{}, false},
		{"of another set", &memory{Hash: "third", Newer: 5}, other(10), false},
		{"was in force before, away for longer than the store remembers", &memory{Hash: "mine", Newer: 5}, other(10), true},
		{"was in force later than the mark: the store was restored", &memory{Hash: "mine", Newer: 11}, other(10), false},
		{"lost", &memory{Hash: "mine"}, other(1), true},
		{"lost, and the mark is gone", &memory{Hash: "mine"}, job.Files{}, false},
		{"an edit after the mark", &memory{Hash: "mine", Edited: true, Newer: 11}, other(10), false},
		{"an edit that brings back what was in force", &memory{Hash: "mine", Edited: true, Newer: 11}, other(10, "mine"), false},
		{"an edit before the mark", &memory{Hash: "mine", Edited: true, Newer: 10}, other(10), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fresh()
			f.edited, f.newer = false, never
			if tt.knows != nil {
				f.set.Hash, f.edited, f.newer = tt.knows.Hash, tt.knows.Edited, tt.knows.Newer
				f.remember()
				f = fresh()
			}
			if why := f.older(tt.current); (why != "") != tt.older {
				t.Errorf("got %q, want older: %t", why, tt.older)
			}
		})
	}
}
