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

// decode reads a record. It refuses what this version could not act on: another type, a name that is not the key's, a state
// that it does not know. Fields that it does not know are ignored.
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

// decodeKV is decode for a whole key. It also refuses a record that is not on a lease although its kind always is.
func decodeKV(kind Kind, name string, kv *mvccpb.KeyValue) job.Change {
	c := decode(kind, name, kv.Value, kv.ModRevision)
	if c.Bad == nil && kv.Lease == 0 && familyOf(kind).leased {
		c.Value, c.Bad = nil, errors.New("the record has no lease, so somebody wrote it by hand")
	}
	return c
}

// decoder returns the decode of a family whose records are of type T. check judges a record at name, and takes over its revision.
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

// decodeJob is decoder for definitions. Definitions share memory for what most of them have in common: ParseJSON does so for the
// spec.
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
	return j, nil
}

func unmarshal(value []byte, v any) error {
	if len(value) == 0 {
		return errors.New("the value is empty")
	}
	if err := json.Unmarshal(value, v); err != nil {
		return fmt.Errorf("not a record of this kind: %w", err)
	}
	return nil
}

// decodeOrder reads the order called id. Its revision is the fencing token of its runs.
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
