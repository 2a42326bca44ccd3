package store

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Kind names a family of records. Its keys lie under <prefix>/<kind>/.
type Kind = job.RecordKind

// The kinds of records. Gate, Files, Takeover and Era are single records.
const (
	KindElection Kind = "election"        // candidates; the create revision of the winner is the term
	KindReplicas Kind = job.RecordReplica // replicas/<name>, leased
	KindWorkers  Kind = job.RecordWorker  // workers/<name>, leased
	KindJobs     Kind = job.RecordJob     // jobs/<job>
	KindCursors  Kind = job.RecordCursor  // cursors/<job>
	KindRuns     Kind = job.RecordRun     // runs/<job>/<slot or id>
	KindQueues   Kind = "queues"          // queues/<worker>/<order>
	KindEvents   Kind = job.RecordEvent   // events/<job>/<id>
	KindTold     Kind = job.RecordTold    // told/<job>
	KindLimits   Kind = job.RecordLimit   // limits/<name>
	KindStones   Kind = "tombstones"      // tombstones/jobs/<job>, tombstones/limits/<name>: for a while after a removal
	KindGate     Kind = job.RecordGate
	KindFiles    Kind = job.RecordFiles
	KindTakeover Kind = "takeover" // leased: there for a while after a forced takeover
	KindEra      Kind = "era"      // how often a restored store has been accepted
)

// Kinds are all kinds of records: those of which there are many, each with a name, and those of which there is one.
func Kinds() (many, single []Kind) {
	return []Kind{
		KindElection, KindReplicas, KindWorkers, KindJobs, KindCursors, KindRuns, KindQueues, KindEvents, KindTold, KindLimits,
		KindStones,
	}, []Kind{KindGate, KindFiles, KindTakeover, KindEra}
}

// Keys makes and reads the keys under one prefix. Every family ends in a slash, so that no name is a prefix of another.
type Keys struct{ prefix string }

// NewKeys returns the keys under prefix, such as "/rota", given without a slash at its end.
func NewKeys(prefix string) Keys { return Keys{prefix: prefix + "/"} }

// All is the prefix of every key, ending in a slash.
func (k Keys) All() string { return k.prefix }

// Election is the prefix of the candidates' keys.
func (k Keys) Election() string { return k.family(KindElection) }

// Takeover is the key that limits forced takeovers.
func (k Keys) Takeover() string { return k.prefix + string(KindTakeover) }

// Signs are the prefixes under which a process shows its presence by its name.
func (k Keys) Signs() []string { return []string{k.family(KindWorkers), k.family(KindReplicas)} }

func (k Keys) family(kind Kind) string        { return k.prefix + string(kind) + "/" }
func (k Keys) job(name string) string         { return k.family(KindJobs) + name }
func (k Keys) cursor(name string) string      { return k.family(KindCursors) + name }
func (k Keys) run(job, id string) string      { return k.family(KindRuns) + job + "/" + id }
func (k Keys) worker(name string) string      { return k.family(KindWorkers) + name }
func (k Keys) replica(name string) string     { return k.family(KindReplicas) + name }
func (k Keys) queue(worker string) string     { return k.family(KindQueues) + worker + "/" }
func (k Keys) order(worker, id string) string { return k.queue(worker) + id }
func (k Keys) events(job string) string       { return k.family(KindEvents) + job + "/" }
func (k Keys) event(job, id string) string    { return k.events(job) + id }
func (k Keys) told(job string) string         { return k.family(KindTold) + job }
func (k Keys) limit(name string) string       { return k.family(KindLimits) + name }
func (k Keys) gate() string                   { return k.prefix + string(KindGate) }
func (k Keys) files() string                  { return k.prefix + string(KindFiles) }
func (k Keys) era() string                    { return k.prefix + string(KindEra) }
func (k Keys) stone(kind Kind, name string) string {
	return k.family(KindStones) + string(kind) + "/" + name
}

// Parse splits a key into its kind and the name within it: "runs", "backup/2026-…Z". ok is false for a key that is not
// of a known kind.
func (k Keys) Parse(key string) (kind Kind, name string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.prefix)
	if !ok {
		return "", "", false
	}
	switch kind = Kind(rest); kind {
	case KindGate, KindFiles, KindTakeover, KindEra:
		return kind, "", true
	}
	first, name, ok := strings.Cut(rest, "/")
	if !ok || name == "" {
		return "", "", false
	}
	switch kind = Kind(first); kind {
	case KindElection, KindReplicas, KindWorkers, KindJobs, KindCursors, KindRuns, KindQueues, KindEvents, KindTold, KindLimits,
		KindStones:
		return kind, name, true
	}
	return "", "", false
}
