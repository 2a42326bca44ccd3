package job

// RecordKind names a family of records in the store.
type RecordKind string

// The kinds of records that a mirror copies, events, and the audit trail.
const (
	RecordJob         RecordKind = "jobs"
	RecordCursor      RecordKind = "cursors"
	RecordRun         RecordKind = "runs"
	RecordWorker      RecordKind = "workers"
	RecordReplica     RecordKind = "replicas"
	RecordLimit       RecordKind = "limits"
	RecordGate        RecordKind = "gate"
	RecordFiles       RecordKind = "files"
	RecordEvent       RecordKind = "events"
	RecordNotifyState RecordKind = "told"
	RecordAudit       RecordKind = "audit"
	RecordIntake      RecordKind = "intake"
	RecordBackfill    RecordKind = "backfills"
)

// Change is one record of a mirrored kind at one revision.
type Change struct {
	Kind RecordKind
	Name string
	Rev  int64

	// Only a snapshot sets these two.
	Key    string // the whole key, as etcdctl prints it
	Create int64  // the revision at which the record was created

	// Value points to the record: *Job, *Cursor, *Run and so on, by Kind. A run may also be a *Delayed, see ValueOf. Others share the
	// record, so readers must not change it. Value is nil if the record is gone or unreadable, with one exception: for an unreadable
	// gate, it is the gate that applies nonetheless.
	Value any
	Bad   error // why the record is unreadable; nil if it is readable or gone
}

// Deleted reports whether the record is gone.
func (c Change) Deleted() bool { return c.Value == nil && c.Bad == nil }

// ValueOf returns the record of a change as a *T; nil if the record is of another kind, gone, or unreadable. It returns a Delayed
// as a Run.
func ValueOf[T any](c Change) *T {
	v, _ := c.Value.(*T)
	if _, ok := any(v).(*Run); ok && v == nil {
		if d, ok := c.Value.(*Delayed); ok {
			v, _ = any(d.Run()).(*T)
		}
	}
	return v
}
