package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// Counters of the effects of workflows.
const (
	stepExecuted  = "steps executed"
	stepSkipped   = "steps skipped for their parents"
	stepCanceled  = "steps behind a canceled run"
	stepInputs    = "outputs passed to a step"
	stepAfterFail = "steps executed after a failure"
)

var staged = []string{stepExecuted, stepSkipped, stepCanceled, stepInputs, stepAfterFail}

// cancelable is the workflow whose runs are canceled.
const cancelable = "diamond"

// workflows plans up to two workflows. Dice of their own leave the other jobs of a seed the same.
func (p *plan) workflows() {
	d := throw(p.seed, "workflows")
	if !d.chance(0.6) {
		return
	}
	shapes := []func(dice){p.diamond, p.fan, p.chain, p.roots}
	d.Shuffle(len(shapes), func(i, k int) { shapes[i], shapes[k] = shapes[k], shapes[i] })
	for _, shape := range shapes[:1+d.IntN(2)] {
		shape(d)
	}
}

// stages adds the jobs of one workflow.
type stages struct {
	plan *plan
	d    dice
	root job.Spec // the schedule and the policies of its jobs without parents
}

func (p *plan) stages(d dice) *stages {
	return &stages{p, d, job.Spec{
		Every:  job.Duration(oneOf(d, 5*time.Second, 10*time.Second, 20*time.Second)),
		Missed: oneOf(d, job.MissedPolicies()...), Overlap: oneOf(d, job.OverlapPolicies()...),
	}}
}

// job adds a job: one without parents if after is empty. failing is the share of its attempts that fail.
func (s *stages) job(name string, failing float64, after ...job.After) {
	spec := s.root
	if len(after) > 0 {
		spec = job.Spec{After: after, Overlap: job.OverlapQueue, Priority: s.d.IntN(3)}
		if s.root.Overlap == job.OverlapAllow { // as a step that names no policy inherits it
			spec.Overlap = job.OverlapAllow
		}
	}
	may := failing > 0 || s.root.Overlap == job.OverlapReplace || strings.HasPrefix(name, cancelable)
	how := work{least: time.Millisecond, most: oneOf(s.d, 100*time.Millisecond, time.Second, 3*time.Second), failing: failing}
	s.plan.add(s.d, name, history.Job{Spec: spec, MayFail: may}, how)
}

func after(parents ...string) (list []job.After) {
	for _, name := range parents {
		list = append(list, job.After{Job: name})
	}
	return list
}

// diamond adds two steps beside each other, one that joins them, and one that handles a failure.
func (p *plan) diamond(d dice) {
	s := p.stages(d)
	s.job(cancelable, 0)
	s.job("diamond-left", 0.3, after(cancelable)...)
	s.job("diamond-right", 0, after(cancelable)...)
	s.job("diamond-join", 0, after("diamond-left", "diamond-right")...)
	s.job("diamond-alarm", 0, job.After{Job: "diamond-left", When: job.WhenFailure})
	s.job("diamond-clean", 0, job.After{Job: "diamond-join", When: job.WhenDone}, job.After{Job: "diamond-alarm", When: job.WhenDone})
}

// fan adds many steps beside each other, and one that gathers them.
func (p *plan) fan(d dice) {
	s := p.stages(d)
	s.job("fan", 0)
	var all []job.After
	for i := range oneOf(d, 3, 8, 8, 50) {
		name := fmt.Sprintf("fan-%d", i)
		s.job(name, oneOf(d, 0, 0, 0.1), after("fan")...)
		all = append(all, job.After{Job: name, When: job.WhenDone})
	}
	s.job("fan-gather", 0, all...)
}

// chain adds steps one behind the other. Behind a failure, all others are skipped.
func (p *plan) chain(d dice) {
	s := p.stages(d)
	s.job("chain", 0)
	before := "chain"
	for i := range 2 + d.IntN(9) {
		name := fmt.Sprintf("chain-%d", i)
		s.job(name, oneOf(d, 0, 0, 0, 0.2), after(before)...)
		before = name
	}
}

// roots adds two jobs with one schedule, a step behind both, and one for each that handles its failure.
func (p *plan) roots(d dice) {
	s := p.stages(d)
	s.job("root-a", oneOf(d, 0, 0.3))
	s.job("root-b", oneOf(d, 0, 0.3))
	s.job("root-join", 0, after("root-a", "root-b")...)
	s.job("root-alarm", 0, job.After{Job: "root-a", When: job.WhenFailure}, job.After{Job: "root-b", When: job.WhenDone})
}

// outputs returns what an attempt gives to the steps behind its run.
func outputs(r *job.Run) map[string]string {
	return map[string]string{"run": r.Name(), "token": strconv.FormatInt(r.Token, 10)}
}

// judgeInputs checks that each step that ran got the outputs of those attempts with which its parents ended.
func (w *world) judgeInputs(executions []*execution) {
	ends := w.endings()
	for _, e := range executions {
		r, ended := ends[e.Run]
		if !ended || len(r.After) == 0 || r.Kind != job.KindScheduled {
			continue
		}
		w.tally.add(stepExecuted)
		for _, a := range r.After {
			parent := ends[a.Job+"/"+a.RunID(&r)]
			if parent.State == job.Failed {
				w.tally.add(stepAfterFail)
			}
			if got := e.inputs[a.Job]; !maps.Equal(got, parent.Outputs) {
				w.fail("%s attempt %d got %v from %s, whose outputs are %v", e.Run, e.Attempt, got, parent.Name(), parent.Outputs)
				w.suspect(e.Run)
			} else if len(got) > 0 {
				w.tally.add(stepInputs)
			}
		}
	}
	for name, r := range ends {
		for i, a := range r.Attempts {
			if strings.HasPrefix(a.Reason, "outputs of parent") {
				w.fail("%s attempt %d did not begin: %s", name, i+1, a.Reason)
				w.suspect(name)
			}
		}
		switch {
		case r.State != job.Skipped || !strings.HasPrefix(r.Reason, "parent "):
		case strings.HasSuffix(r.Reason, "was canceled"):
			w.tally.add(stepCanceled)
		default:
			w.tally.add(stepSkipped)
		}
	}
}

// endings returns the final records of all runs, by name. They include those that the history has lost since.
func (w *world) endings() map[string]job.Run {
	ends := make(map[string]job.Run)
	for _, v := range w.recorder.history() {
		var r job.Run
		name, ok := strings.CutPrefix(v.Key, prefix+"/runs/")
		if ok && !v.Deleted && json.Unmarshal(v.Value, &r) == nil && r.State.Terminal() {
			ends[name] = r
		}
	}
	return ends
}

// undecidedSteps lists the runs of steps that are missing although all parents have ended.
func (w *world) undecidedSteps() (left []string) {
	ended := w.recorder.endedSlots()
	for _, j := range w.recorder.definitions() {
		for _, a := range j.Spec.After {
			for id, at := range ended[a.Job] {
				_, decided := ended[j.Name][id]
				open := slices.ContainsFunc(w.recorder.live(), func(r job.Run) bool { return r.Job == j.Name && r.ID == id })
				if !decided && !open && at.After(j.Since) {
					left = append(left, fmt.Sprintf("step %s/%s is not decided", j.Name, id))
				}
			}
		}
	}
	return left
}

// endedSlots returns the slots of all scheduled runs that have ended, by job and by ID.
func (r *recorder) endedSlots() map[string]map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]map[string]time.Time)
	for name := range r.ended {
		of, id, _ := strings.Cut(name, "/")
		slot, err := time.Parse(time.RFC3339Nano, id)
		if err != nil {
			continue
		}
		if all[of] == nil {
			all[of] = make(map[string]time.Time)
		}
		all[of][id] = slot
	}
	return all
}
