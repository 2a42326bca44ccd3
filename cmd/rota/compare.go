package main

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// changeKind says how job files change one job or limit of the cluster.
type changeKind string

const (
	created   changeKind = "created"
	changed   changeKind = "changed"
	removed   changeKind = "removed"
	unchanged changeKind = "unchanged"
	refused   changeKind = "refused" // a replica's own file defines it, and only that file may change it
)

// change is the difference between the files and the cluster for one job or one limit.
type change struct {
	Job        string      `json:"job,omitempty"`
	Limit      string      `json:"limit,omitempty"`
	Kind       changeKind  `json:"change"`
	Reason     string      `json:"reason,omitempty"` // why the change is refused
	Diff       string      `json:"diff,omitempty"`
	NextBefore []time.Time `json:"next_before,omitzero"`
	NextAfter  []time.Time `json:"next_after,omitzero"`
	Cancels    []string    `json:"cancels,omitempty"`     // the runs that a removal cancels, at most api.MaxActive
	CancelsAll int         `json:"cancels_all,omitempty"` // how many it cancels
	Applied    bool        `json:"applied"`               // the cluster has accepted it

	spec     job.Spec      // the new definition of a job
	limit    job.LimitSpec // the new definition of a limit
	revision int64         // revision of the definition in the cluster, 0 if there is none
}

// title returns the name that people see.
func (ch *change) title() string {
	if ch.Limit != "" {
		return "limit " + ch.Limit
	}
	return ch.Job
}

// fullTitle returns the kind and the name.
func (ch *change) fullTitle() string {
	if ch.Job != "" {
		return "job " + ch.Job
	}
	return ch.title()
}

// compareJobs returns the changes that give the cluster the jobs of the files. It also removes the jobs that prune selects, that
// the API created, and that no file defines. It never removes a job that a replica's own file defines.
func compareJobs(set *config.Set, present []api.JobView, prune pruning, now time.Time) ([]change, error) {
	byName := make(map[string]*api.JobView, len(present))
	for i := range present {
		byName[present[i].Job.Name] = &present[i]
	}
	var changes []change
	for _, d := range definitions(set) {
		ch := change{Job: d.Name, spec: d.Spec, NextBefore: []time.Time{}, NextAfter: upcoming(d.Name, &d.Spec, now, nextShown)}
		old := byName[d.Name]
		var err error
		if ch.Diff, err = jobDiff(d.Name, specOf(old), &d.Spec); err != nil {
			return nil, err
		}
		ch.Kind = created
		if old != nil {
			ch.classify(old.Revision, old.Origin)
			ch.NextBefore = upcoming(d.Name, old.Spec, now, nextShown)
		}
		changes = append(changes, ch)
	}
	for _, old := range present {
		name := old.Job.Name
		if _, kept := set.Jobs[name]; !prune.job(name) || kept || old.Origin.Kind != job.OriginAPI {
			continue
		}
		text, err := jobDiff(name, old.Spec, nil)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{
			Job: name, Kind: removed, Diff: text, revision: old.Revision, spec: *old.Spec, Cancels: old.Active, CancelsAll: old.ActiveRuns,
			NextBefore: upcoming(name, old.Spec, now, nextShown), NextAfter: []time.Time{},
		})
	}
	return changes, nil
}

// nextShown is the number of slots that are shown before and after a change.
const nextShown = 3

func specOf(v *api.JobView) *job.Spec {
	if v == nil {
		return nil
	}
	return v.Spec
}

// classify sets the kind of a change to an existing definition.
func (ch *change) classify(revision int64, origin job.Origin) {
	ch.revision = revision
	switch {
	case ch.Diff == "":
		ch.Kind = unchanged
	case origin.Kind == job.OriginFile:
		ch.Kind = refused
		ch.Reason = "it is defined in " + cmp.Or(origin.Source, "a file") + " of a replica: change it there"
	default:
		ch.Kind = changed
	}
}

// compareLimits is compareJobs for limits. It returns the removals separately. They must be made after the changes of jobs,
// because a job may still name the limit.
func compareLimits(set *config.Set, present []api.LimitView, prune bool) (changes, removals []change, err error) {
	byName := make(map[string]*api.LimitView, len(present))
	for i := range present {
		byName[present[i].Name] = &present[i]
	}
	for _, name := range slices.Sorted(maps.Keys(set.Limits)) {
		ch := change{Limit: name, limit: set.Limits[name].Spec, Kind: created}
		if old := byName[name]; old != nil {
			if ch.Diff, err = limitDiff(name, &old.Spec, &ch.limit); err != nil {
				return nil, nil, err
			}
			ch.classify(old.Revision, old.Origin)
		}
		changes = append(changes, ch)
	}
	for _, old := range present {
		if _, kept := set.Limits[old.Name]; prune && !kept && old.Origin.Kind == job.OriginAPI {
			removals = append(removals, change{Limit: old.Name, Kind: removed, revision: old.Revision})
		}
	}
	return changes, removals, nil
}

// jobDiff returns the difference between two definitions in the form of a job file. It returns "" if they mean the same. nil
// stands for no definition.
func jobDiff(name string, before, after *job.Spec) (string, error) {
	return specDiff(before, after, func(spec job.Spec) ([]byte, error) {
		return config.Marshal(map[string]job.Spec{name: spec})
	})
}

func limitDiff(name string, before, after *job.LimitSpec) (string, error) {
	return specDiff(before, after, func(spec job.LimitSpec) ([]byte, error) {
		return config.MarshalSet(nil, map[string]job.LimitSpec{name: spec})
	})
}

func specDiff[S any](before, after *S, marshal func(S) ([]byte, error)) (string, error) {
	var texts [2][]byte
	for i, spec := range []*S{before, after} {
		if spec == nil {
			continue
		}
		text, err := marshal(*spec)
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	out := diff.Diff("cluster", texts[0], "files", texts[1])
	for range 3 { // skip the header: it has the names of the two sides, which are always the same
		_, out, _ = bytes.Cut(out, []byte("\n"))
	}
	return string(out), nil
}
