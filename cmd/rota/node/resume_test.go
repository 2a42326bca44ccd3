package node

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestAWorkflowIsNotResumedWithoutItsHistory resumes a workflow whose last step succeeded, and whose run is out of history since. The
// step must not run again.
func TestAWorkflowIsNotResumedWithoutItsHistory(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	at := time.Now().Add(3 * time.Second).UTC().Truncate(time.Second)
	r.define(t, map[string]job.Spec{"extract": {Shell: "false", At: []time.Time{at}}})
	r.define(t, map[string]job.Spec{"tell": {Shell: "true", After: []job.After{{Job: "extract", When: job.WhenDone}}}})
	r.define(t, map[string]job.Spec{"load": {Shell: "true", After: []job.After{{Job: "extract"}}}})
	id := job.SlotID(at)
	for ref, state := range map[string]job.State{"tell/" + id: job.Succeeded, "load/" + id: job.Skipped} {
		r.reaches(t, ref, state)
	}
	if _, err := r.node.client.Delete(t.Context(), "/rota/runs/tell/"+id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the history has lost the run", func() bool {
		_, known := r.node.mirror.Run("tell/" + id)
		return !known
	})
	_, err := r.Resume(t.Context(), "extract/"+id)
	if err == nil || !strings.Contains(err.Error(), "rota run tell --workflow") {
		t.Errorf("got %v, want a refusal that names the step", err)
	}
}

// TestAWorkflowWithTwoFailuresIsResumedFromBoth resumes a workflow from one of two runs that failed, and then from the other one.
func TestAWorkflowWithTwoFailuresIsResumedFromBoth(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	repaired := filepath.Join(t.TempDir(), "repaired")
	at := time.Now().Add(3 * time.Second).UTC().Truncate(time.Second)
	for _, name := range []string{"left", "right"} {
		r.define(t, map[string]job.Spec{name: {Shell: "test -e " + repaired, At: []time.Time{at}}})
	}
	r.define(t, map[string]job.Spec{"join": {Shell: "true", After: []job.After{{Job: "left"}, {Job: "right"}}}})
	id := job.SlotID(at)
	r.reaches(t, "join/"+id, job.Skipped)
	if err := os.WriteFile(repaired, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		from string
		join job.State
	}{{"left/" + id, job.Skipped}, {"right/" + id, job.Succeeded}} {
		again, err := r.Resume(t.Context(), step.from)
		if err != nil {
			t.Fatal(err)
		}
		r.reaches(t, "join/"+again.ID, step.join)
	}
}

// TestAStepThatWasCanceledWaitsAgain cancels a step that waits for its parent, and repeats it while the parent still runs.
func TestAStepThatWasCanceledWaitsAgain(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	end := filepath.Join(t.TempDir(), "end")
	extract := "while [ ! -e " + end + " ]; do sleep 0.05; done; echo total=7 >$ROTA_OUTPUT"
	r.define(t, map[string]job.Spec{"extract": {Shell: extract}})
	load := job.Spec{Shell: `[ "$ROTA_INPUT_EXTRACT_TOTAL" = 7 ]`, After: []job.After{{Job: "extract"}}}
	r.define(t, map[string]job.Spec{"load": load})
	first, _, err := r.Submit(t.Context(), "extract", api.RunRequest{Workflow: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Cancel(t.Context(), "load/"+first.ID, "by mistake"); err != nil {
		t.Fatal(err)
	}
	again, err := r.Retry(t.Context(), "load/"+first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !again.AwaitsParents() {
		t.Errorf("the new run is %s, want it to wait for its parent", again.Reason)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the step has succeeded with the output of its parent", func() bool {
		v, err := r.Run(t.Context(), again.Name())
		return err == nil && v.State == job.Succeeded
	})
}

// TestAReplicaThatIsBehindStartsNoWorkflow starts and resumes a workflow through a replica whose watch is dead. It knows neither a
// new step nor that another one has succeeded.
func TestAReplicaThatIsBehindStartsNoWorkflow(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	relay := proxy.NewRelay(t, endpoint)
	leader := start(t, Config{Settings: outside(t, "q1", endpoint), Version: version})
	leader.lead(t)
	set := outside(t, "q2", relay.Endpoint())
	set.Worker.Enabled = false
	behind := start(t, Config{Settings: set, Version: version})
	leader.define(t, map[string]job.Spec{"extract": {Shell: "false"}})
	leader.define(t, map[string]job.Spec{"tell": {Shell: "true", After: []job.After{{Job: "extract", When: job.WhenDone}}}})
	eventually(t, "the other replica knows the workflow", func() bool {
		_, err := behind.Job(t.Context(), "tell")
		return err == nil
	})
	if relay.KillWatches() == 0 {
		t.Fatal("there is no watch")
	}
	first, _, err := leader.Submit(t.Context(), "extract", api.RunRequest{Workflow: true})
	if err != nil {
		t.Fatal(err)
	}
	leader.define(t, map[string]job.Spec{"new": {Shell: "true", After: []job.After{{Job: "extract", When: job.WhenDone}}}})
	if v, _, err := behind.Submit(t.Context(), "extract", api.RunRequest{Workflow: true}); err == nil {
		if _, err := leader.Run(t.Context(), "new/"+v.ID); err != nil {
			t.Errorf("a workflow starts without its new step: %v", err)
		}
	} else if !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("the start is refused for another reason: %v", err)
	}
	eventually(t, "the step has succeeded", func() bool {
		v, err := leader.Run(t.Context(), "tell/"+first.ID)
		return err == nil && v.State == job.Succeeded
	})
	again, err := behind.Resume(t.Context(), "extract/"+first.ID)
	if err != nil {
		if !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("the resumption is refused for another reason: %v", err)
		}
		return
	}
	if v, err := leader.Run(t.Context(), "tell/"+again.ID); err == nil {
		t.Errorf("a step that has succeeded runs again: %s", v.Name())
	}
}

// TestTheGraphOfARetriedStepHasItsWholeWorkflow retries a step of a resumed workflow. Its parent is a run of the resumption, whose
// own parent is a run of the first start.
func TestTheGraphOfARetriedStepHasItsWholeWorkflow(t *testing.T) {
	t.Parallel()
	r := start(t, Config{Settings: settings(t, "q1"), Version: version})
	r.lead(t)
	mended := filepath.Join(t.TempDir(), "mended")
	r.define(t, map[string]job.Spec{"extract": {Shell: "true"}})
	r.define(t, map[string]job.Spec{"load": {Shell: "[ -e " + mended + " ]", After: []job.After{{Job: "extract"}}}})
	r.define(t, map[string]job.Spec{"tell": {Shell: "false", After: []job.After{{Job: "load"}}}})
	first, _, err := r.Submit(t.Context(), "extract", api.RunRequest{Workflow: true})
	if err != nil {
		t.Fatal(err)
	}
	r.reaches(t, "load/"+first.ID, job.Failed)
	r.reaches(t, "tell/"+first.ID, job.Skipped)
	if err := os.WriteFile(mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	resumed, err := r.Resume(t.Context(), "load/"+first.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.reaches(t, "tell/"+resumed.ID, job.Failed)
	again, err := r.Retry(t.Context(), "tell/"+resumed.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"extract/" + first.ID, "load/" + resumed.ID, again.Name()}
	for range 20 {
		v, err := r.Workflow(t.Context(), "tell", again.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range v.Steps {
			got = append(got, step.Ref)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
