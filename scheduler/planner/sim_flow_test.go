package planner_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
)

// TestWorkflowSimulation is TestSimulation with a workflow, whose jobs are edited, deleted, created again and started by hand.
func TestWorkflowSimulation(t *testing.T) {
	if *simSeed >= 0 {
		simulateFlow(t, uint64(*simSeed), true)
		return
	}
	for seed := range *simSeeds / 5 { // the workflow makes a simulation several times as long
		if !simulateFlow(t, uint64(seed), false) {
			t.Fatalf("reproduce with: go test ./scheduler/planner -run WorkflowSimulation -sim.seed=%d", seed)
		}
	}
}

func simulateFlow(t *testing.T, seed uint64, verbose bool) bool {
	w := newSim(seed, func(format string, args ...any) {
		if verbose {
			t.Logf(format, args...)
		}
	})
	w.flow = &flow{
		jobs: []string{root, "b", "c", "d"}, cursors: make(map[string]*job.Cursor), defined: make(map[string]*job.Job),
	}
	w.defineFlow()
	w.storm(time.Duration(2+w.n(6)) * time.Minute)
	w.heal()
	for _, err := range w.check.verify(w) {
		t.Errorf("seed %d: %v", seed, err)
	}
	return !t.Failed()
}

// flow is the workflow of a simulation: a root, and the steps b, c and d.
type flow struct {
	jobs    []string               // the root first
	cursors map[string]*job.Cursor // what the checked part of the log says
	defined map[string]*job.Job    // the same
}

const (
	root       = "a"
	other      = "z" // another job without parents, which has the slots of the root
	everywhere = "e" // runs on every worker
)

// defineFlow defines the workflow, and a job that runs on every worker.
func (w *sim) defineFlow() {
	w.defineRoots()
	for _, name := range w.flow.jobs[1:] {
		w.define(name, w.stepSpec(name))
	}
	w.jobs = append(w.jobs, everywhere)
	spec := job.Spec{
		Every: job.Duration(5+w.n(10)) * job.Duration(time.Second), Overlap: job.OverlapPolicies()[w.n(4)],
		Missed: job.MissedPolicies()[w.n(3)], Workers: map[string]string{job.EveryWorker: "true"}, Delivery: job.Deliveries()[w.n(2)],
		Retry: &job.Retry{Max: w.n(2), MaxDelay: job.Duration(5 * time.Second)},
	}
	w.sometimesBound(&spec)
	w.define(everywhere, spec)
}

// stepSpec returns a definition of a step. Its conditions vary, and sometimes its parents.
func (w *sim) stepSpec(name string) job.Spec {
	var parents []string
	switch name {
	case "b":
		parents = []string{root}
	case "c":
		parents = [][]string{{root, "b"}, {root, "b"}, {root}, {root, other}}[w.n(4)]
	case "d":
		parents = []string{"b", "c"}
	}
	spec := job.Spec{Overlap: job.OverlapPolicies()[w.n(4)], Delivery: job.Deliveries()[w.n(2)]}
	for _, p := range parents {
		spec.After = append(spec.After, job.After{Job: p, When: job.Whens()[w.n(3)]})
	}
	if w.chance(0.2) {
		spec.Description = "slow"
	}
	if w.chance(0.2) {
		spec.StartWithin = job.Duration(5*time.Second + w.upTo(time.Minute))
	}
	if w.chance(0.2) {
		spec.FinishBy = fmt.Sprintf("%ds", 1+w.n(60))
	}
	if w.chance(0.2) {
		spec.Approve = &job.Approve{Within: job.Duration(time.Second + w.upTo(time.Minute))}
	}
	w.sometimesBound(&spec)
	return spec
}

// operateFlow performs a random operation on a job of the workflow.
func (w *sim) operateFlow() {
	name := append([]string{other}, w.flow.jobs...)[w.n(1+len(w.flow.jobs))]
	if _, broken := w.broken[name]; broken {
		w.repair()
		return
	}
	j := w.store.job(name)
	if j == nil {
		w.log("create %s", name)
		w.define(name, w.check.specs[name])
		return
	}
	if w.chance(0.02) {
		w.toggleEverywhere()
	}
	next := *j
	switch w.n(12) {
	case 0:
		now := w.apiClock()
		next, _ = next.SetPause(&job.Pause{At: now}, now)
		w.log("pause %s", name)
		w.store.putJob(next)
	case 1, 2:
		if j.Paused != nil {
			w.log("resume %s", name)
			w.resume(j)
		}
	case 3:
		if !isRoot(name) && w.chance(0.4) { // the API removes no job that a step names
			w.recreate(j)
		}
	case 4:
		if isRoot(name) {
			w.redefineRoots(name)
			return
		}
		spec, fresh := *j.Spec, w.stepSpec(name)
		spec.After, spec.Overlap = fresh.After, fresh.Overlap
		spec.Limits, spec.Rate, spec.Breaker = fresh.Limits, fresh.Rate, fresh.Breaker
		w.redefine(j, spec)
	case 5, 6:
		w.cancelOne()
	case 7:
		w.startFlow(name)
	case 8, 9:
		w.resumeFlow()
	case 10:
		if name == root {
			w.orderBackfill(j)
		}
	case 11:
		if w.chance(0.3) {
			w.tamperFlow(name)
		}
	}
}

// toggleEverywhere lets the runs of a job on every worker run on one, or the other way round.
func (w *sim) toggleEverywhere() {
	e := w.store.job(everywhere)
	if e == nil {
		return
	}
	spec := *e.Spec
	if spec.Workers = nil; !e.Spec.OnEveryWorker() {
		spec.Workers, spec.Approve = map[string]string{job.EveryWorker: "true"}, nil
	}
	w.redefine(e, spec)
}

// recreate deletes a job, and sometimes creates it again at once.
func (w *sim) recreate(j *job.Job) {
	w.log("delete %s", j.Name)
	w.check.specs[j.Name] = *j.Spec
	w.store.deleteJob(j.Name)
	if w.chance(0.3) {
		w.log("create %s again", j.Name)
		w.define(j.Name, *j.Spec)
	}
}

// cancelOne cancels a run of the workflow.
func (w *sim) cancelOne() {
	for _, r := range w.store.runs() {
		if !slices.Contains(w.flow.jobs, r.Job) || r.State.Terminal() || !w.chance(0.3) {
			continue
		}
		if next, err := r.Stop(job.Cancel{At: w.now}); err == nil {
			w.log("cancel %s", r.Name())
			_ = w.store.stopRun(next)
		}
		return
	}
}

// tamperFlow changes the definition or the cursor of a job by hand. The jobs without parents keep their cursors.
func (w *sim) tamperFlow(name string) {
	switch n := w.n(3); {
	case n == 0:
		w.log("%s is garbage", name)
		w.broken[name] = *w.store.job(name)
		w.store.putGarbage(job.RecordJob, name)
	case isRoot(name):
	case n == 1:
		w.log("cursor of %s is removed", name)
		w.tampered[name] = true
		w.store.remove(job.RecordCursor, name)
	default:
		w.log("cursor of %s is garbage", name)
		w.tampered[name] = true
		w.store.putGarbage(job.RecordCursor, name)
	}
}

// graph returns the workflows of all jobs.
func (w *sim) graph() workflow.Graph { return workflow.Of(w.store.specs()) }

// startFlow starts a job of the workflow with everything behind it.
func (w *sim) startFlow(name string) {
	w.ids++
	at := w.apiClock()
	r := job.Run{
		Job: name, ID: fmt.Sprintf("m%d", w.ids), Kind: job.KindManual, Slot: at, Due: at, State: job.Pending, Created: at,
	}
	w.log("start %s", r.Name())
	w.store.submitAll(r, w.graph().Runs(&r, func(string) int64 { return 1 }))
}

// resumeFlow repeats a run of the workflow with the runs behind it that did not succeed.
func (w *sim) resumeFlow() {
	var failed []*job.Run
	for _, r := range w.store.runs() {
		if slices.Contains(w.flow.jobs, r.Job) && r.State.Terminal() && workflow.Unfit(r) == "" {
			failed = append(failed, r)
		}
	}
	if len(failed) == 0 {
		return
	}
	old := failed[w.n(len(failed))]
	if w.store.job(old.Job) == nil {
		return
	}
	w.ids++
	id := fmt.Sprintf("m%d", w.ids)
	w.log("resume %s as %s", old.Name(), id)
	w.store.resume(old, id, w.apiClock())
}
