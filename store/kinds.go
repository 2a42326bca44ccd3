package store

import (
	"errors"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Kind names a family of records. Its keys lie under <prefix>/<kind>/.
type Kind = job.RecordKind

// The kinds of records. Each has a row in families.
const (
	KindElection    Kind = "election"            // candidates; the create revision of the winner is the term
	KindReplicas    Kind = job.RecordReplica     // replicas/<name>
	KindWorkers     Kind = job.RecordWorker      // workers/<name>
	KindJobs        Kind = job.RecordJob         // jobs/<job>
	KindCursors     Kind = job.RecordCursor      // cursors/<job>
	KindRuns        Kind = job.RecordRun         // runs/<job>/<slot or id>
	KindQueues      Kind = "queues"              // queues/<worker>/<order>
	KindEvents      Kind = job.RecordEvent       // events/<job>/<id>
	KindNotifyState Kind = job.RecordNotifyState // told/<job>
	KindLimits      Kind = job.RecordLimit       // limits/<name>
	KindIntake      Kind = job.RecordIntake      // intake/<job>, intake/_all: while many submissions wait
	KindBackfills   Kind = job.RecordBackfill    // backfills/<job>
	KindTombstones  Kind = "tombstones"          // tombstones/<kind>/<name>, of a job, a limit or a token: for a while after a removal
	KindGate        Kind = job.RecordGate
	KindFiles       Kind = job.RecordFiles
	KindTakeover    Kind = "takeover"      // for a while after a forced takeover
	KindEra         Kind = "era"           // how often a restored store has been accepted
	KindSessions    Kind = "sessions"      // sessions/<sha256>: browsers that signed in
	KindCodes       Kind = "codes"         // codes/<sha256>: codes with which a browser can sign in once
	KindAuth        Kind = "auth"          // auth/tokens/<id>
	KindAudit       Kind = job.RecordAudit // audit/<ulid>: one for each change by a client, in its transaction
)

// family describes one kind of records.
type family struct {
	kind     Kind
	single   bool   // there is one record, without a name
	mirrored bool   // a Mirror copies the records; it only checks those of other kinds
	leased   bool   // every record is on a lease, unless somebody wrote it by hand
	followed bool   // a Mirror does not copy the records, but tells its tails of new ones
	noun     string // what error messages call a record
	// tombstones: a removal leaves a tombstone, and a creation fails if there is a newer one.
	tombstones bool
	// bare: a record has only a definition, so a new definition may replace an unreadable record. The record of a job also says from
	// when its slots count, and whether it is paused.
	bare       bool
	companions []Kind // records of the same name that are removed with a record
	// decode returns a pointer to the record. It refuses what this version cannot act on. nil: any value is accepted.
	decode func(name string, value []byte, rev int64) (any, error)
}

// families has all kinds. A Mirror copies only some of them: workers read their own orders, and candidates belong to the election.
// Events, audit records and tombstones are read on demand. The era, sessions, codes and tokens have readers of their own.
var families = []family{
	{kind: KindElection, leased: true},
	{kind: KindReplicas, mirrored: true, leased: true, noun: "replica", decode: decoder(checkReplica)},
	{kind: KindWorkers, mirrored: true, leased: true, noun: "worker", decode: decoder(checkWorker)},
	{
		kind: KindJobs, mirrored: true, noun: "job", decode: decodeJob,
		tombstones: true, companions: []Kind{KindCursors, KindNotifyState, KindIntake, KindBackfills},
	},
	{kind: KindCursors, mirrored: true, decode: decoder(checkCursor)},
	{kind: KindRuns, mirrored: true, noun: "run", decode: decoder(checkRun)},
	{kind: KindQueues, decode: checkOrder},
	{kind: KindEvents, decode: decoder(checkEvent), followed: true},
	{kind: KindNotifyState, mirrored: true, decode: decoder(checkNotifyState)},
	{kind: KindLimits, mirrored: true, noun: "limit", tombstones: true, bare: true, decode: decoder(checkLimit)},
	{kind: KindIntake, mirrored: true, decode: decoder(checkIntake)},
	{kind: KindBackfills, mirrored: true, noun: "backfill of job", decode: decoder(checkBackfill)},
	{kind: KindTombstones, decode: decoder(checkTombstone)},
	{kind: KindGate, single: true, mirrored: true, noun: "the pause of all jobs", decode: decoder(checkGate)},
	{kind: KindFiles, single: true, mirrored: true, noun: "the record of the job files", decode: decoder(checkFiles)},
	{kind: KindTakeover, single: true, leased: true},
	{kind: KindEra, single: true, decode: decoder(checkEra)},
	{kind: KindSessions, leased: true, decode: decoder(checkSession)},
	{kind: KindCodes, leased: true, decode: decoder(checkSession)},
	{kind: KindAuth, tombstones: true, decode: decoder(checkToken)},
	{kind: KindAudit, decode: decoder(checkAudit), followed: true},
}

var familyByKind = func() map[Kind]*family {
	byKind := make(map[Kind]*family, len(families))
	for i := range families {
		byKind[families[i].kind] = &families[i]
	}
	return byKind
}()

// unknownFamily is the family of all keys that belong to no kind. A Mirror reports their records as unreadable.
var unknownFamily = &family{mirrored: true, decode: func(string, []byte, int64) (any, error) {
	return nil, errors.New("no records belong here")
}}

// familyOf returns the family of a kind; unknownFamily for "", which is no kind.
func familyOf(kind Kind) *family {
	if f := familyByKind[kind]; f != nil {
		return f
	}
	return unknownFamily
}

// Replaceable reports whether a definition may replace an unreadable record of a kind without knowing its revision.
func Replaceable(kind Kind) bool { return familyOf(kind).bare }

// reported reports whether Watch, Snapshot and Log include the records of a kind.
func (f *family) reported() bool { return f.mirrored || f.followed }

// Kinds returns all kinds of records. many are the kinds whose records have names; single are the kinds with one
// record.
func Kinds() (many, single []Kind) {
	for _, f := range families {
		if f.single {
			single = append(single, f.kind)
		} else {
			many = append(many, f.kind)
		}
	}
	return many, single
}
