package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOldJobFilesRejoin gives each replica its own job file, and edits the files while one replica is down. When this replica
// comes back with its old file, it does not undo the newer ones, and all replicas report the difference. Then an edit breaks
// the file of one replica, and later of all. The jobs in force stay, and the error is shown with its line.
func TestOldJobFilesRejoin(t *testing.T) {
	row(t)
	t.Parallel()
	ledger := NewLedger(t)
	spec := func(description string) map[string]job.Spec {
		return map[string]job.Spec{"tick": {
			Description: description, Every: job.Duration(time.Second), Missed: job.MissedAll, Shell: ledger.Shell(""),
		}}
	}
	dir := t.TempDir()
	file := func(node string) string { return filepath.Join(dir, node+".yaml") }
	names := []string{"q1", "q2", "q3"}
	for _, name := range names {
		WriteJobs(t, file(name), spec("old"))
	}
	c := Start(t, Config{
		Binary: binary, Jobs: spec("old"),
		Flags: func(name string) []string { return []string{"--jobs=" + file(name)} },
	})
	inForce := func() string {
		j, err := c.Client.Job(t.Context(), "tick")
		if err != nil {
			return err.Error()
		}
		return j.Spec.Description
	}
	away := c.Replicas()[2]
	away.Terminate()
	for _, name := range names[:2] {
		WriteJobs(t, file(name), spec("new"))
	}
	Await(t, 20*time.Second, "the new files are in force", func() bool { return inForce() == "new" })
	away.Start()
	away.WaitReady()
	Await(t, 20*time.Second, "all replicas report which of them has other files", func() bool {
		return strings.Contains(c.notes(), "q3: older than the files in force")
	})
	leader := c.Leader() // the old file could win now, because the others stop
	for _, n := range c.Replicas()[:2] {
		n.Terminate()
		n.Start()
		n.WaitReady()
	}
	t.Logf("%s led, now %s does", leader.Name, c.Leader().Name)
	if got := inForce(); got != "new" {
		t.Errorf("definition after the old files came back: got %q, want the new one", got)
	}
	for _, v := range c.Recorder.VersionsOf("jobs/tick") {
		var j job.Job
		if json.Unmarshal(v.Value, &j) == nil && j.Generation > 1 && j.Spec.Description == "old" {
			t.Errorf("generation %d, written at %d, undoes the new definition", j.Generation, v.Rev)
		}
	}

	// An edit breaks one file, then all.
	ran := len(ledger.Effects())
	for _, name := range names {
		breakFile(t, file(name))
		Await(t, 20*time.Second, "the mistake is shown with its line", func() bool {
			return strings.Contains(c.notes(), name+": the job files are wrong") && strings.Contains(c.notes(), filepath.Base(file(name))+":5:")
		})
	}
	if out, code := Command(t, binary, "status", "--server="+c.Replicas()[0].URL); !strings.Contains(out, "q1.yaml:5:") {
		t.Errorf("rota status (exit code %d) does not show the mistake:\n%s", code, out)
	}
	all := c.Replicas()
	for _, n := range slices.Backward(all) { // a replica that starts with a broken file works too
		n.Terminate()
		n.Start()
		n.WaitReady()
	}
	Await(t, 20*time.Second, "the job runs on", func() bool { return len(ledger.Effects()) > ran+10 })
	if got := inForce(); got != "new" {
		t.Errorf("definition with broken files: got %q, want what was in force", got)
	}
	for _, name := range names {
		WriteJobs(t, file(name), spec("repaired"))
	}
	Await(t, 20*time.Second, "the repaired files are in force", func() bool { return inForce() == "repaired" })
	Await(t, 20*time.Second, "nothing is wrong any more", func() bool { return c.notes() == "" })
	c.Check(ledger.Effects, nil, nil)
}

// breakFile replaces a job file by one with a mistake in its fifth line.
func breakFile(t *testing.T, path string) {
	t.Helper()
	text := fmt.Sprintf("version: 1\njobs:\n  tick:\n    every: 1s\n    shel: %q\n", "true")
	replaceFile(t, path, text)
}
