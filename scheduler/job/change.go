package job

// RecordKind names a family of records in the store.
type RecordKind string

// The families whose changes a mirror tells.
const (
	RecordJob     RecordKind = "jobs"
	RecordCursor  RecordKind = "cursors"
	RecordRun     RecordKind = "runs"
	RecordWorker  RecordKind = "workers"
	RecordReplica RecordKind = "replicas"
	RecordLimit   RecordKind = "limits"
	RecordGate    RecordKind = "gate"
	RecordFiles   RecordKind = "files"
	RecordEvent   RecordKind = "events"
	RecordTold    RecordKind = "told"
)

// Change is one record of a mirrored kind at one revision. Exactly one of the pointers is set; none if the record is gone, or
// cannot be read: then Bad says why. For an unreadable gate, Gate is what holds nonetheless. What they point to is shared and
// must not be changed.
type Change struct {
	Kind RecordKind
	Name string
	Rev  int64

	// Only a snapshot tells these two.
	Key    string // the whole key, as etcdctl shows it
	Create int64  // the revision at which it was made

	Job     *Job
	Cursor  *Cursor
	Run     *Run
	Worker  *Worker
	Replica *Replica
	Limit   *Limit
	Gate    *Gate
	Files   *Files
	Event   *Event
	Told    *Told
	Bad     error
}

// Deleted says whether the record is gone.
func (c Change) Deleted() bool {
	return c.Bad == nil && c.Job == nil && c.Cursor == nil && c.Run == nil && c.Worker == nil && c.Replica == nil &&
		c.Limit == nil && c.Gate == nil && c.Files == nil && c.Event == nil && c.Told == nil
}
