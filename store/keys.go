package store

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Keys makes and reads the keys under one prefix. Every family ends in a slash, so that no name is a prefix of another.
type Keys struct{ prefix string }

// NewKeys returns the keys under prefix, such as "/rota", given without a slash at its end.
func NewKeys(prefix string) Keys { return Keys{prefix: prefix + "/"} }

// All returns the prefix of every key, ending in a slash.
func (k Keys) All() string { return k.prefix }

// Election returns the prefix of the candidates' keys.
func (k Keys) Election() string { return k.family(KindElection) }

// Takeover returns the key that limits forced takeovers.
func (k Keys) Takeover() string { return k.record(KindTakeover, "") }

// Presences returns the prefixes under which a process shows its presence by its name.
func (k Keys) Presences() []string { return []string{k.family(KindWorkers), k.family(KindReplicas)} }

// LastSign returns the last record of a worker whose process is proven dead, if key is that of its presence; otherwise "". The
// presence of a replica has no last record: no attempt depends on it.
func (k Keys) LastSign(key string) string {
	name, ok := strings.CutPrefix(key, k.family(KindWorkers))
	if !ok {
		return ""
	}
	value, err := encode(job.EndedWorker(name))
	if err != nil {
		return ""
	}
	return string(value)
}

// record returns the key of one record; name is "" for a kind with a single one.
func (k Keys) record(kind Kind, name string) string {
	if familyOf(kind).single {
		return k.prefix + string(kind)
	}
	return k.family(kind) + name
}

func (k Keys) family(kind Kind) string        { return k.prefix + string(kind) + "/" }
func (k Keys) job(name string) string         { return k.prefix + string(KindJobs) + "/" + name }
func (k Keys) cursor(name string) string      { return k.prefix + string(KindCursors) + "/" + name }
func (k Keys) run(job, id string) string      { return k.prefix + string(KindRuns) + "/" + job + "/" + id }
func (k Keys) queue(worker string) string     { return k.prefix + string(KindQueues) + "/" + worker + "/" }
func (k Keys) order(worker, id string) string { return k.queue(worker) + id }
func (k Keys) events(job string) string       { return k.family(KindEvents) + job + "/" }
func (k Keys) event(job, id string) string    { return k.events(job) + id }
func (k Keys) tombstone(kind Kind, name string) string {
	return k.family(KindTombstones) + string(kind) + "/" + name
}

// Parse splits a key into its kind and the name within it: "runs", "backup/2026-…Z". ok is false for a key that is not
// of a known kind.
func (k Keys) Parse(key string) (kind Kind, name string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.prefix)
	if !ok {
		return "", "", false
	}
	first, name, named := strings.Cut(rest, "/")
	f := familyByKind[Kind(first)]
	if f == nil || f.single == named || named && name == "" {
		return "", "", false
	}
	return f.kind, name, true
}
