package node

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// byHand is what reads the job files at path for r, when the test says so.
func (r *running) byHand(path string) *files {
	f := &files{node: r.node, path: path, newer: never}
	f.load()
	f.recall()
	return f
}

// TestARestartIsNoEdit has two replicas edit their files at about the same time. The edit that loses has never been in force;
// it must not be when its replica starts the next time.
func TestARestartIsNoEdit(t *testing.T) {
	t.Parallel()
	for name, hears := range map[string]bool{"after it heard that it lost": true, "before it heard, since it was cut off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			etcd := etcd(t)
			file1, file2 := filepath.Join(t.TempDir(), "jobs.yaml"), filepath.Join(t.TempDir(), "jobs.yaml")
			write(t, file1, jobsFile("old", "x"))
			write(t, file2, jobsFile("old", "x"))
			q1 := withFiles(t, "q1", etcd, file1)
			q1.wantJobs(t, "x=old")

			set := outside(t, "q2", etcd)
			set.Worker.Enabled = false
			q2 := start(t, Config{Settings: set, Version: version})
			f := q2.byHand(file2)
			if err := f.enforce(t.Context()); err != nil {
				t.Fatal(err)
			}
			write(t, file2, jobsFile("lost", "x"))
			f.read()
			write(t, file1, jobsFile("won", "x", "added"))
			q1.wantJobs(t, "added=won x=won")
			if hears {
				if err := f.enforce(t.Context()); err != nil || !strings.Contains(f.behind, "q1 put other files in force after the edit") {
					t.Fatalf("got %v, %q, want an edit that lost", err, f.behind)
				}
			}
			if err := q2.end(); err != nil {
				t.Fatal(err)
			}

			set.Jobs = file2
			q2 = start(t, Config{Settings: set, Version: version})
			eventually(t, "a note", func() bool { return strings.Contains(q1.notes(t), "q2: ") && strings.Contains(q1.notes(t), "q1") })
			q2.wantJobs(t, "added=won x=won")
			write(t, file2, jobsFile("now", "x"))
			q1.wantJobs(t, "x=now")
		})
	}
}

// TestEditsWhileAReplicaIsAway makes more of them than anybody would remember who kept a short list, while a replica is away that
// has lost its disk.
func TestEditsWhileAReplicaIsAway(t *testing.T) {
	t.Parallel()
	etcd := etcd(t)
	file1, file2 := filepath.Join(t.TempDir(), "jobs.yaml"), filepath.Join(t.TempDir(), "jobs.yaml")
	write(t, file2, jobsFile("old", "x"))
	set := outside(t, "q1", etcd)
	set.Worker.Enabled = false
	q1 := start(t, Config{Settings: set, Version: version})
	write(t, file1, jobsFile("old", "x"))
	f := q1.byHand(file1)
	for n := range 61 {
		if err := f.enforce(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(t, file1, jobsFile(fmt.Sprint(n), "x"))
		f.read()
	}
	withFiles(t, "q2", etcd, file2)
	eventually(t, "a note", func() bool {
		return strings.Contains(q1.notes(t), "q2: older than the files in force, which q1 applied")
	})
	q1.wantJobs(t, "x=59")
}

// TestWhichFilesAreOlder goes through what a replica may know of a set when it finds another one in force.
func TestWhichFilesAreOlder(t *testing.T) {
	dir := t.TempDir()
	fresh := func() *files {
		n := &Node{set: config.Settings{Node: config.Node{Name: "q1", DataDir: dir}}, log: hclog.NewNullLogger()}
		f := &files{node: n, set: &config.Set{Hash: "mine"}, newer: never}
		f.recall()
		return f
	}
	other := func(rev int64, history ...string) job.Files {
		return job.Files{Hash: "other", By: "q2", Rev: rev, History: history}
	}
	for _, tt := range []struct {
		name    string
		knows   *sighting // nil: nothing
		current job.Files
		older   bool
	}{
		{"never seen", nil, other(10), false},
		{"never seen, but once in force", nil, other(10, "mine"), true},
		{"never seen, and nothing in force", nil, job.Files{}, false},
		{"of another set", &sighting{Hash: "third", Newer: 5}, other(10), false},
		{"was in force before, away for longer than the store remembers", &sighting{Hash: "mine", Newer: 5}, other(10), true},
		{"was in force later than the mark: the store was restored", &sighting{Hash: "mine", Newer: 11}, other(10), false},
		{"lost", &sighting{Hash: "mine"}, other(1), true},
		{"lost, and the mark is gone", &sighting{Hash: "mine"}, job.Files{}, false},
		{"an edit after the mark", &sighting{Hash: "mine", Edited: true, Newer: 11}, other(10), false},
		{"an edit that brings back what was in force", &sighting{Hash: "mine", Edited: true, Newer: 11}, other(10, "mine"), false},
		{"an edit before the mark", &sighting{Hash: "mine", Edited: true, Newer: 10}, other(10), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fresh()
			f.edited, f.newer = false, never
			if tt.knows != nil {
				f.set.Hash, f.edited, f.newer = tt.knows.Hash, tt.knows.Edited, tt.knows.Newer
				f.keep()
				f = fresh()
			}
			if why := f.older(tt.current); (why != "") != tt.older {
				t.Errorf("got %q, want older: %t", why, tt.older)
			}
		})
	}
}
