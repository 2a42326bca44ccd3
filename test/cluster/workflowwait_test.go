package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestTheCommandWaitsForAWorkflow starts a workflow in which a step fails, and resumes it. Both commands wait for all steps, and exit
// with the code of the step that failed.
func TestTheCommandWaitsForAWorkflow(t *testing.T) {
	t.Parallel()
	ready := filepath.Join(t.TempDir(), "ready")
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"load":   {Shell: "sleep 1"},
		"check":  {After: []job.After{{Job: "load"}}, Shell: "test -e " + ready + " || exit 7"},
		"report": {After: []job.After{{Job: "check"}}, Shell: "sleep 1"},
		"alarm":  {After: []job.After{{Job: "check", When: job.WhenFailure}}, Shell: "sleep 1"},
	}})
	out := c.must(7, "run", "load", "--workflow", "--wait")
	for _, want := range []string{" failed: exit code 7", "was skipped: parent check failed", "run alarm/", "did not succeed"} {
		if !strings.Contains(out, want) {
			t.Errorf("got no %q in\n%s", want, out)
		}
	}
	files.Write(t, ready, "")
	out = c.must(0, "retry", "check", "--resume", "--wait", "--output=jsonpath={.items[*].job}:{.items[*].state}")
	if want := "check report:succeeded succeeded"; !strings.Contains(out, want) {
		t.Errorf("got %q, want %q", out, want)
	}
}
