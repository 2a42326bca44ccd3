package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unique"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxRecord bounds one record, in bytes. A request may hold a run twice, as its record and in its worker's order, and etcd accepts
// 1.5 MiB for each request.
const maxRecord = 512 << 10

// encode returns the JSON of a record. The error is job.ErrTooLarge if it is too large.
func encode(record any) ([]byte, error) {
	out, err := marshal(record)
	if err != nil {
		return nil, err
	}
	return out, checkLength(out)
}

// checkLength returns job.ErrTooLarge if a record is too large.
func checkLength(record []byte) error {
	if len(record) > maxRecord {
		return fmt.Errorf("record of %d bytes, at most %d: %w", len(record), maxRecord, job.ErrTooLarge)
	}
	return nil
}

// appender is a record that is written often. AppendJSON returns what encoding/json would, but faster. If ok is false,
// encoding/json must encode the record.
type appender interface {
	AppendJSON(b []byte) (out []byte, ok bool)
}

// usualSize is a size in bytes that few records exceed.
const usualSize = 640

// marshal returns the JSON of v. It does not escape <, > and &, because each would take six bytes.
func marshal(v any) ([]byte, error) {
	if a, often := v.(appender); often {
		if out, ok := a.AppendJSON(make([]byte, 0, usualSize)); ok {
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

// decode decodes a record. It refuses a record that this version cannot act on: another type, a name that is not the
// key's, an unknown state. It ignores unknown fields.
func decode(kind Kind, name string, value []byte, rev int64) job.Change {
	c := job.Change{Kind: kind, Name: name, Rev: rev}
	f := familyOf(kind)
	if f.decode == nil {
		c.Value = value
	} else if v, err := f.decode(name, value, rev); err != nil {
		c.Bad = err
	} else {
		c.Value = v
	}
	return c
}

// decodeKV is decode for a whole key. If all records of a kind are on a lease, it also refuses one without a lease.
func decodeKV(kind Kind, name string, kv *mvccpb.KeyValue) job.Change {
	c := decode(kind, name, kv.Value, kv.ModRevision)
	if c.Bad == nil && kv.Lease == 0 && familyOf(kind).leased {
		c.Value, c.Bad = nil, errors.New("the record has no lease, so somebody wrote it by hand")
	}
	return c
}

// decoder returns the function family.decode for records of type T. check checks a record and sets its revision.
func decoder[T any](check func(v *T, name string, rev int64) error) func(string, []byte, int64) (any, error) {
	return func(name string, value []byte, rev int64) (any, error) {
		if err := checkSize(value); err != nil {
			return nil, err
		}
		v, err := read[T](value)
		if err != nil {
			return nil, err
		}
		return v, check(v, name, rev)
	}
}

func checkSize(value []byte) error {
	if len(value) > maxRecord {
		return fmt.Errorf("%d bytes, at most %d", len(value), maxRecord)
	}
	return nil
}

// share makes a definition share memory: its name with its key, and its common texts with other definitions.
func share(j *job.Job, name string) {
	if j.Name == name {
		j.Name = name
	}
	for _, text := range []*string{&j.Origin.Kind, &j.Origin.Source, &j.SinceReason} {
		*text = unique.Make(*text).Value()
	}
}

// parser is a record that is read often. ParseJSON reads what encoding/json would, but faster. If it returns false,
// encoding/json must decode the record.
type parser interface {
	ParseJSON(b []byte) bool
}

// read parses the JSON of a record.
func read[T any](value []byte) (*T, error) {
	v := new(T)
	if p, often := any(v).(parser); !often || !p.ParseJSON(value) {
		*v = *new(T) // ParseJSON may have read some fields
		if err := unmarshal(value, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// decodeJob is decoder for definitions. Definitions share memory for values that most of them have. ParseJSON does this
// for the spec.
func decodeJob(name string, value []byte, rev int64) (any, error) {
	if err := checkSize(value); err != nil {
		return nil, err
	}
	j := &job.Job{}
	fast := j.ParseJSON(value)
	if !fast {
		*j = job.Job{}
		if err := unmarshal(value, j); err != nil {
			return nil, err
		}
	}
	if err := checkJob(j, name, rev); err != nil {
		return nil, err
	}
	if !fast {
		j.Spec.Share()
	}
	share(j, name)
	j.Stored = len(value)
	return j, nil
}

func unmarshal(value []byte, v any) error {
	if len(value) == 0 {
		return errors.New("the value is empty")
	}
	if err := json.Unmarshal(value, v); err != nil {
		return misfit(err)
	}
	return nil
}

// decodeOrder decodes the order called id. Its revision is the fencing token of its runs.
func decodeOrder(id string, value []byte, rev int64) (job.Order, error) {
	o, err := read[job.Order](value)
	if err != nil {
		return job.Order{}, err
	}
	if err := same("id", o.ID, id); err != nil {
		return job.Order{}, err
	}
	o.Rev = rev
	for i := range o.Runs {
		o.Runs[i].Rev = rev
		if o.Runs[i].State != job.Armed {
			return *o, fmt.Errorf("run %s is %s, not armed", o.Runs[i].Name(), o.Runs[i].State)
		}
	}
	return *o, nil
}
