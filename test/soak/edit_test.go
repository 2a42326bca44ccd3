package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// rest is the minimum time between the removal of a job and its return.
const rest = 10 * time.Second

// editor adds, changes and removes jobs in the file that all replicas read.
type editor struct {
	t    *testing.T
	c    *cluster.Cluster
	rng  *rand.Rand
	sink *cluster.Sink
	end  time.Time

	jobs    map[string]job.Spec // the jobs in the file
	ever    map[string]job.Spec // all jobs that were ever in the file
	removed map[string]time.Time
	edits   int
}

// run edits until ctx ends.
func (e *editor) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(4*time.Second + time.Duration(e.rng.IntN(4000))*time.Millisecond):
			e.edit()
		}
	}
}

// edit makes one atomic change of the file.
func (e *editor) edit() {
	var names []string
	for name := range e.jobs {
		if strings.HasPrefix(name, "edit-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	name := names[e.rng.IntN(len(names))]
	spec := e.jobs[name]
	switch n := e.rng.IntN(5); {
	case n == 0 && len(names) > 3:
		delete(e.jobs, name)
		e.removed[name] = time.Now()
	case n == 1:
		e.put(e.absent(), editable(e.sink, time.Second, e.end))
	case n == 2: // changes the schedule
		spec.Every = job.Duration(time.Second) + job.Duration(2*time.Second) - spec.Every
		e.put(name, spec)
	default: // changes the request
		h := *spec.HTTP
		h.Body = fmt.Sprintf("edit %d", e.edits)
		spec.HTTP = &h
		e.put(name, spec)
	}
	e.edits++
	e.c.WriteJobs(e.jobs)
}

func (e *editor) put(name string, spec job.Spec) {
	e.jobs[name] = spec
	e.ever[name] = spec
}

// absent returns the name of a job that is not in the file.
func (e *editor) absent() string {
	for _, name := range slices.Sorted(maps.Keys(e.removed)) {
		if time.Since(e.removed[name]) > rest {
			delete(e.removed, name)
			return name
		}
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("edit-%03d", i)
		if _, known := e.ever[name]; !known {
			return name
		}
	}
}

// check checks that the last file is in force, and that every kind of edit reached the store.
func (e *editor) check() (said string) {
	e.t.Helper()
	differs := ""
	if !cluster.Within(30*time.Second, func() bool { differs = e.differs(); return differs == "" }) {
		e.t.Errorf("the jobs in force are not those of the last file: %s", differs)
	}
	added, changed, removed := 0, 0, 0
	for name := range e.ever {
		for _, v := range e.c.Recorder.VersionsOf("jobs/" + name) {
			switch {
			case !strings.HasPrefix(name, "edit-"):
			case v.Deleted:
				removed++
			case v.Create == v.Rev:
				added++
			default:
				changed++
			}
		}
	}
	added -= edited
	if e.edits >= 30 && (added == 0 || changed == 0 || removed == 0) {
		e.t.Errorf("%d edits: %d jobs added, %d changed, %d removed: they did not reach the store", e.edits, added, changed, removed)
	}
	return fmt.Sprintf("%d edits of the job file: %d jobs added, %d changed, %d removed", e.edits, added, changed, removed)
}

// differs returns the name of a job that is in force with another definition than in the file.
func (e *editor) differs() string {
	views, err := e.c.Client.Jobs(e.t.Context())
	if err != nil {
		return err.Error()
	}
	inForce := make(map[string]job.Spec)
	for _, v := range views {
		inForce[v.Name] = *v.Spec
	}
	for name, spec := range e.jobs {
		want, _ := json.Marshal(spec.WithDefaults())
		got, _ := json.Marshal(inForce[name])
		if string(got) != string(want) {
			return fmt.Sprintf("%s: got %s, want %s", name, got, want)
		}
		delete(inForce, name)
	}
	for name := range inForce {
		return name + " was removed, but exists"
	}
	return ""
}
