package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// changeKind is what job files would do to a job or a limit of the cluster.
type changeKind string

const (
	created   changeKind = "created"
	changed   changeKind = "changed"
	removed   changeKind = "removed"
	unchanged changeKind = "unchanged"
	refused   changeKind = "refused" // the job is a file's of a replica: only that file may change it
)

// change is the difference between the files and the cluster in one job or one limit.
type change struct {
	Job        string      `json:"job,omitempty"`
	Limit      string      `json:"limit,omitempty"`
	Kind       changeKind  `json:"change"`
	Reason     string      `json:"reason,omitempty"` // why it is refused
	Diff       string      `json:"diff,omitempty"`
	NextBefore []time.Time `json:"next_before,omitzero"`
	NextAfter  []time.Time `json:"next_after,omitzero"`
	Applied    bool        `json:"applied"` // the cluster has taken it

	spec     job.Spec      // as it is to be
	limit    job.LimitSpec // as it is to be
	revision int64         // of the definition that was compared, 0 if there is none
}

// what names it for people.
func (ch *change) what() string {
	if ch.Limit != "" {
		return "limit " + ch.Limit
	}
	return ch.Job
}

// named is what with what it is.
func (ch *change) named() string {
	if ch.Job != "" {
		return "job " + ch.Job
	}
	return ch.what()
}

// compare says what has to be done so that the cluster has the jobs of the files. With prune the jobs that came by the
// API and are in no file are removed; those that a replica's own files define never are.
func compare(set *config.Set, present []api.JobView, prune bool, now time.Time) ([]change, error) {
	byName := make(map[string]*api.JobView, len(present))
	for i := range present {
		byName[present[i].Job.Name] = &present[i]
	}
	var changes []change
	for _, d := range definitions(set) {
		ch := change{Job: d.Name, spec: d.Spec, NextBefore: []time.Time{}, NextAfter: upcoming(d.Name, &d.Spec, now, nextShown)}
		old := byName[d.Name]
		var err error
		if ch.Diff, err = difference(d.Name, specOf(old), &d.Spec); err != nil {
			return nil, err
		}
		switch {
		case old == nil:
			ch.Kind = created
		case ch.Diff == "":
			ch.Kind = unchanged
		case old.Origin.Kind == job.OriginFile:
			ch.Kind, ch.Reason = refused, "it is defined in "+cmp.Or(old.Origin.Source, "a file")+" of a replica: change it there"
		default:
			ch.Kind = changed
		}
		if old != nil {
			ch.revision = old.Revision
			ch.NextBefore = upcoming(d.Name, old.Spec, now, nextShown)
		}
		changes = append(changes, ch)
	}
	if !prune {
		return changes, nil
	}
	for _, old := range present {
		name := old.Job.Name
		if _, kept := set.Jobs[name]; kept || old.Origin.Kind != job.OriginAPI {
			continue
		}
		text, err := difference(name, old.Spec, nil)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change{
			Job: name, Kind: removed, Diff: text, revision: old.Revision,
			NextBefore: upcoming(name, old.Spec, now, nextShown), NextAfter: []time.Time{},
		})
	}
	return changes, nil
}

// nextShown is how many slots are shown before and after a change.
const nextShown = 3

func specOf(v *api.JobView) *job.Spec {
	if v == nil {
		return nil
	}
	return v.Spec
}

// difference compares two definitions as they would be written in a file, "" if they mean the same. nil is none.
func difference(name string, before, after *job.Spec) (string, error) {
	var texts [2][]byte
	for i, spec := range []*job.Spec{before, after} {
		if spec == nil {
			continue
		}
		text, err := config.Marshal(map[string]job.Spec{name: *spec})
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	return compared(texts[0], texts[1]), nil
}

// compared is what differs between what the cluster has and what the files have.
func compared(cluster, files []byte) string {
	out := diff.Diff("cluster", cluster, "files", files)
	for range 3 { // the names: everybody knows what is compared with what
		_, out, _ = bytes.Cut(out, []byte("\n"))
	}
	return string(out)
}

// only returns the changes of one kind.
func only(changes []change, kind changeKind) []change {
	return slices.DeleteFunc(slices.Clone(changes), func(ch change) bool { return ch.Kind != kind })
}

// summary counts changes by kind.
func summary(changes []change) string {
	var parts []string
	for _, kind := range []changeKind{created, changed, removed, refused, unchanged} {
		if n := len(only(changes, kind)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "no jobs")
}

// mark is the sign and the color with which a job's change begins.
func (k changeKind) mark() (string, color) {
	switch k {
	case created:
		return "+", green
	case changed:
		return "~", yellow
	case removed:
		return "-", red
	case refused:
		return "!", red
	}
	return "=", plain
}

// writeChanges shows what differs.
func writeChanges(p *page, changes []change) {
	for _, ch := range changes {
		if ch.Kind == unchanged {
			continue
		}
		sign, color := ch.Kind.mark()
		p.line("%s", p.tint(fmt.Sprintf("%s %s %s", sign, ch.what(), ch.Kind), color))
		if ch.Reason != "" {
			p.line("    %s", printable(ch.Reason))
		}
		if ch.Kind == changed || ch.Kind == refused {
			for line := range strings.Lines(ch.Diff) {
				writeDiffLine(p, strings.TrimSuffix(line, "\n"))
			}
		}
		writeSlots(p, &ch)
	}
}

func writeDiffLine(p *page, line string) {
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "\\"):
	case strings.HasPrefix(line, "+"):
		p.line("    %s", p.tint(line, green))
	case strings.HasPrefix(line, "-"):
		p.line("    %s", p.tint(line, red))
	default:
		p.line("    %s", line)
	}
}

func writeSlots(p *page, ch *change) {
	before, after := strings.Join(stamps(ch.NextBefore), "  "), strings.Join(stamps(ch.NextAfter), "  ")
	switch {
	case after == "" && (ch.Kind == created || ch.Kind == changed) && ch.spec.Scheduled():
		p.line("    warning: its schedule has no slot any more: it runs only when it is asked to")
	case before == "" && after == "": // it runs when it is asked to
	case ch.Kind == removed:
		p.line("    no more runs at: %s", orDash(before))
	case ch.Kind == created || before == after:
		p.line("    next runs: %s", orDash(after))
	default:
		p.line("    next runs before: %s", orDash(before))
		p.line("    next runs after:  %s", orDash(after))
	}
}
