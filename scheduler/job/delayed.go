package job

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"time"
)

// Delayed is the record of a delayed run that waits for its time, in a seventh of the memory of a Run. A million of them may wait.
// It never changes.
type Delayed struct {
	job, id   string
	text      string // the fields that pack appends
	payload   json.RawMessage
	slot, due int64 // in nanoseconds since 1970
	whole     *Run  // the record, if it has a rare part that the other fields cannot hold; nil: they hold everything
}

// Delay returns r as a Delayed; nil if r is no delayed run, or does more than wait for its time. Nobody may change r afterwards.
func (r *Run) Delay() *Delayed {
	if r.Kind != KindDelayed || r.State != Pending || r.Attempt != 0 ||
		r.Attempts != nil || r.On != "" || r.After != nil || r.Copies != nil || r.Approval != nil || r.Cancel != nil {
		return nil
	}
	d := &Delayed{job: r.Job, id: r.ID, payload: r.Payload}
	if !d.pack(r) {
		d.whole = r
	}
	return d
}

// pack takes over the fields of r. It returns false if r has a part that d cannot hold.
func (d *Delayed) pack(r *Run) bool {
	if r.Reason != ReasonNotYet || r.Late || r.Worker != "" || r.Session != "" || r.Token != 0 || !r.Armed.IsZero() || r.Ahead ||
		r.Limits != nil || !r.Started.IsZero() || r.Bound != 0 || !r.Finished.IsZero() || r.LostMore != 0 ||
		r.Exit != nil || r.Output != "" || r.Outputs != nil || r.SlotSkipped || r.Params != nil || r.Defaulted != nil || r.Copied ||
		r.Followed || r.Spec != nil || r.RetryOf != "" {
		return false
	}
	d.slot, d.due = r.Slot.UnixNano(), r.Due.UnixNano()
	created := r.Created.UnixNano()
	if nanos(d.slot) != r.Slot || nanos(d.due) != r.Due || nanos(created) != r.Created { // in another zone, or centuries away
		return false
	}
	b := make([]byte, 0, 128)
	for _, n := range [...]int64{r.Rev, created - d.slot, r.Generation, r.Term} {
		b = binary.AppendVarint(b, n)
	}
	for _, s := range [...]string{r.Key, r.By, r.Op} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	d.text = string(b)
	return true
}

// Read sets r to the run. To read many runs into the same r makes no garbage.
func (d *Delayed) Read(r *Run) {
	if d.whole != nil {
		*r = *d.whole
		return
	}
	*r = Run{
		Job: d.job, ID: d.id, Kind: KindDelayed, Slot: nanos(d.slot), Due: nanos(d.due), State: Pending, Reason: ReasonNotYet,
		Payload: d.payload,
	}
	t := packed(d.text)
	r.Rev = t.number()
	r.Created = nanos(d.slot + t.number())
	r.Generation, r.Term = t.number(), t.number()
	r.Key, r.By, r.Op = t.string(), t.string(), t.string()
}

// Run returns the run.
func (d *Delayed) Run() *Run {
	if d.whole != nil {
		return d.whole
	}
	r := new(Run)
	d.Read(r)
	return r
}

// ID returns Run.ID.
func (d *Delayed) ID() string { return d.id }

// Due returns Run.Due.
func (d *Delayed) Due() time.Time {
	if d.whole != nil {
		return d.whole.Due
	}
	return nanos(d.due)
}

// DueNanos returns Instant of Run.Due.
func (d *Delayed) DueNanos() int64 {
	if d.whole != nil {
		return Instant(d.whole.Due)
	}
	return d.due
}

// Rev returns Run.Rev.
func (d *Delayed) Rev() int64 {
	if d.whole != nil {
		return d.whole.Rev
	}
	t := packed(d.text)
	return t.number()
}

// Instant returns t in nanoseconds since 1970. Times that int64 cannot hold come as the nearest one that it can.
func Instant(t time.Time) int64 {
	const most = math.MaxInt64/int64(time.Second) - 1
	switch s := t.Unix(); {
	case s > most:
		return math.MaxInt64
	case s < -most:
		return math.MinInt64
	}
	return t.UnixNano()
}

func nanos(n int64) time.Time { return time.Unix(0, n).UTC() }

// packed is the rest of a text that pack has made.
type packed string

func (p *packed) number() (n int64) {
	u := p.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (p *packed) string() string {
	n := p.uvarint()
	s := string((*p)[:n])
	*p = (*p)[n:]
	return s
}

func (p *packed) uvarint() (u uint64) {
	for i, shift := 0, 0; ; i, shift = i+1, shift+7 {
		c := (*p)[i]
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			*p = (*p)[i+1:]
			return u
		}
	}
}
