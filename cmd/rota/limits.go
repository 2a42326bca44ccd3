package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// limitChanges says what has to be done so that the cluster has the limits of the files: before the jobs that name them,
// and, with prune, after those that do not any more.
func limitChanges(ctx context.Context, cl *client.Client, set *config.Set, prune bool) (before, after []change, err error) {
	if len(set.Limits) == 0 && !prune {
		return nil, nil, nil
	}
	present, err := cl.Limits(ctx)
	if err != nil {
		return nil, nil, err
	}
	return compareLimits(set, present, prune)
}

func compareLimits(set *config.Set, present []api.LimitView, prune bool) (before, after []change, err error) {
	byName := make(map[string]*api.LimitView, len(present))
	for i := range present {
		byName[present[i].Name] = &present[i]
	}
	for _, name := range slices.Sorted(maps.Keys(set.Limits)) {
		d, old := set.Limits[name], byName[name]
		ch := change{Limit: name, limit: d.Spec, Kind: created}
		if old != nil {
			ch.revision = old.Revision
			if ch.Diff, err = limitDifference(name, &old.Spec, &d.Spec); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case old == nil:
		case old.Spec == d.Spec:
			ch.Kind = unchanged
		case old.Origin.Kind == job.OriginFile:
			ch.Kind, ch.Reason = refused, "it is defined in "+cmp.Or(old.Origin.Source, "a file")+" of a replica: change it there"
		default:
			ch.Kind = changed
		}
		before = append(before, ch)
	}
	for _, old := range present {
		if _, kept := set.Limits[old.Name]; prune && !kept && old.Origin.Kind == job.OriginAPI {
			after = append(after, change{Limit: old.Name, Kind: removed, revision: old.Revision})
		}
	}
	return before, after, nil
}

// limitDifference is difference for limits.
func limitDifference(name string, before, after *job.LimitSpec) (string, error) {
	var texts [2][]byte
	for i, spec := range []*job.LimitSpec{before, after} {
		text, err := config.MarshalSet(nil, map[string]job.LimitSpec{name: *spec})
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	return compared(texts[0], texts[1]), nil
}

func applyLimit(ctx context.Context, cl *client.Client, ch *change) (err error) {
	switch ch.Kind {
	case created:
		_, err = cl.PutLimit(ctx, ch.Limit, ch.limit, api.Precondition{Absent: true})
	case changed:
		_, err = cl.PutLimit(ctx, ch.Limit, ch.limit, api.Precondition{Revision: ch.revision})
	case removed:
		err = cl.DeleteLimit(ctx, ch.Limit, api.Precondition{Revision: ch.revision})
	}
	return err
}
