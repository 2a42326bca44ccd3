package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unique"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxRecord bounds one record, in bytes: a run is written twice in one request, as its record and in its worker's
// order, and etcd takes 1.5 MiB per request.
const maxRecord = 512 << 10

// encode returns the JSON of a record, job.ErrTooLarge if it is too large to be one.
func encode(record any) ([]byte, error) {
	out, err := marshal(record)
	if err != nil {
		return nil, err
	}
	if len(out) > maxRecord {
		return nil, fmt.Errorf("record of %d bytes, at most %d: %w", len(out), maxRecord, job.ErrTooLarge)
	}
	return out, nil
}

// appender is a record that is written often: AppendJSON makes of it what encoding/json would, but faster, or says that it
// leaves that to encoding/json.
type appender interface {
	AppendJSON(b []byte) (out []byte, ok bool)
}

// usual is the size that most records do not exceed, in bytes.
const usual = 640

// marshal leaves <, > and & as they are: escaped, each takes six bytes.
func marshal(v any) ([]byte, error) {
	if a, often := v.(appender); often {
		if out, ok := a.AppendJSON(make([]byte, 0, usual)); ok {
			return out, nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// decode reads the record of a mirrored kind. It refuses what this version could not act on: another type, a name that
// is not the key's, a state that it does not know. Fields that it does not know are ignored.
func decode(kind Kind, name string, value []byte, rev int64) job.Change {
	c := job.Change{Kind: kind, Name: name, Rev: rev}
	if len(value) > maxRecord {
		c.Bad = fmt.Errorf("%d bytes, at most %d", len(value), maxRecord)
		return c
	}
	var err error
	switch kind {
	case KindJobs:
		c.Job, err = decodeJob(name, value, rev)
	case KindCursors:
		c.Cursor, err = read(value, job.Cursor{Rev: rev}, func(c *job.Cursor) error { return checkCursor(c, name) })
	case KindRuns:
		c.Run, err = read(value, job.Run{Rev: rev}, func(r *job.Run) error { return checkRun(r, name) })
	case KindWorkers:
		c.Worker, err = read(value, job.Worker{Rev: rev}, func(w *job.Worker) error {
			if w.Session == "" || !job.CapacityRange.Holds(w.Capacity) {
				return fmt.Errorf("no session, or a capacity that is not between %d and %d", job.CapacityRange.Low, job.CapacityRange.High)
			}
			return same("name", w.Name, name)
		})
	case KindReplicas:
		c.Replica, err = read(value, job.Replica{Rev: rev}, func(r *job.Replica) error { return same("name", r.Name, name) })
	case KindLimits:
		c.Limit, err = read(value, job.Limit{Rev: rev}, func(l *job.Limit) error { return checkLimit(l, name) })
	case KindGate:
		c.Gate, err = read(value, job.Gate{Rev: rev}, func(g *job.Gate) error {
			if g.Paused == nil && g.Since.IsZero() {
				return fmt.Errorf("it is neither closed nor says since when it is open")
			}
			return nil
		})
	case KindFiles:
		c.Files, err = read(value, job.Files{Rev: rev}, func(f *job.Files) error {
			if f.Hash == "" {
				return fmt.Errorf("no hash")
			}
			return nil
		})
	case KindEvents:
		c.Event, err = read(value, job.Event{Rev: rev}, func(e *job.Event) error { return same("key", e.Job+"/"+e.ID, name) })
	case KindTold:
		c.Told, err = read(value, job.Told{Rev: rev}, func(t *job.Told) error { return same("job", t.Job, name) })
	default:
		err = fmt.Errorf("no records belong here")
	}
	if err != nil {
		return job.Change{Kind: kind, Name: name, Rev: rev, Bad: err}
	}
	return c
}

// decodeKV is decode for a whole key: one that stands for a process has to end with it.
func decodeKV(kind Kind, name string, kv *mvccpb.KeyValue) job.Change {
	c := decode(kind, name, kv.Value, kv.ModRevision)
	if (kind == KindWorkers || kind == KindReplicas) && kv.Lease == 0 && c.Bad == nil {
		return job.Change{Kind: kind, Name: name, Rev: kv.ModRevision, Bad: errors.New("it has no lease, so that only somebody's hand can have put it there")}
	}
	return c
}

// share lets a definition have in common with others what most definitions say, and with its key the name.
func share(j *job.Job, name string) {
	if j.Name == name {
		j.Name = name
	}
	for _, text := range []*string{&j.Origin.Kind, &j.Origin.Source, &j.SinceReason} {
		*text = unique.Make(*text).Value()
	}
}

// parser is a record that is read often: ParseJSON reads what encoding/json would, but faster, or says that it leaves that to
// encoding/json.
type parser interface {
	ParseJSON(b []byte) bool
}

// read reads what fresh says nothing of, and has it checked.
func read[T any](value []byte, fresh T, check func(*T) error) (*T, error) {
	v := new(T)
	*v = fresh
	if p, often := any(v).(parser); !often || !p.ParseJSON(value) {
		*v = fresh // ParseJSON may have come some way
		if err := unmarshal(value, v); err != nil {
			return nil, err
		}
	}
	return v, check(v)
}

// decodeJob is read for a definition. It has in common with others what most say; ParseJSON sees to that for its spec.
func decodeJob(name string, value []byte, rev int64) (*job.Job, error) {
	j := &job.Job{Rev: rev}
	fast := j.ParseJSON(value)
	if !fast {
		j = &job.Job{Rev: rev}
		if err := unmarshal(value, j); err != nil {
			return nil, err
		}
	}
	if err := checkJob(j, name); err != nil {
		return nil, err
	}
	if !fast {
		j.Spec.Share()
	}
	share(j, name)
	return j, nil
}

func unmarshal(value []byte, v any) error {
	if len(value) == 0 {
		return fmt.Errorf("the value is empty")
	}
	if err := json.Unmarshal(value, v); err != nil {
		return fmt.Errorf("not a record of this kind: %w", err)
	}
	return nil
}

func same(field, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %.80q, but the key says %.160q", field, got, want)
	}
	return nil
}

// maxCount is more than we ever count to, so that what is counted up stays above zero.
const maxCount = 1 << 30

func checkJob(j *job.Job, name string) error {
	if err := job.CheckName(name); err != nil {
		return err
	}
	if name == job.AdHoc {
		return fmt.Errorf("the name is that of commands without a job")
	}
	if j.Generation < 1 || j.Generation > maxCount {
		return fmt.Errorf("generation is %d, and begins at 1", j.Generation)
	}
	if j.Spec == nil {
		return fmt.Errorf("it does not say what to do")
	}
	if err := j.Spec.Check(); err != nil {
		return err
	}
	return same("name", j.Name, name)
}

func checkLimit(l *job.Limit, name string) error {
	if err := job.CheckName(name); err != nil {
		return err
	}
	if l.Spec == (job.LimitSpec{}) {
		return fmt.Errorf("it limits nothing")
	}
	if err := l.Spec.Check(); err != nil {
		return err
	}
	return same("name", l.Name, name)
}

func checkCursor(c *job.Cursor, name string) error {
	if c.After.IsZero() {
		return fmt.Errorf("it does not say up to when slots are decided")
	}
	if !c.Next.IsZero() && !c.Next.After(c.After) { // it would go backwards
		return fmt.Errorf("its next slot is decided already")
	}
	return same("job", c.Job, name)
}

func checkRun(r *job.Run, name string) error {
	jobName, id, ok := strings.Cut(name, "/")
	if !ok || strings.Contains(id, "/") {
		return fmt.Errorf("the key is not runs/<job>/<slot or id>")
	}
	if !r.State.Valid() {
		return fmt.Errorf("state %.40q is not known", r.State)
	}
	if (r.State == job.Armed || r.State == job.Running) && (r.Worker == "" || r.Attempt < 1) {
		return fmt.Errorf("it is %s, but has no worker or no attempt", r.State)
	}
	if r.Attempt < 0 || r.Attempt > maxCount || r.Bound < 0 {
		return fmt.Errorf("attempt is %d, bound %v", r.Attempt, r.Bound)
	}
	if r.Spec != nil { // or else its job says what to do
		if err := r.Spec.Check(); err != nil {
			return err
		}
	}
	if r.Job != jobName || r.ID != id {
		return same("run", r.Name(), name)
	}
	return nil
}

// decodeOrder reads the order called id. Its revision is the fencing token of its runs.
func decodeOrder(id string, value []byte, rev int64) (job.Order, error) {
	o, err := read(value, job.Order{Rev: rev}, func(o *job.Order) error { return same("id", o.ID, id) })
	if err != nil {
		return job.Order{}, err
	}
	for i := range o.Runs {
		o.Runs[i].Rev = rev
		if o.Runs[i].State != job.Armed {
			return *o, fmt.Errorf("run %s is %s, not armed", o.Runs[i].Name(), o.Runs[i].State)
		}
	}
	return *o, nil
}
