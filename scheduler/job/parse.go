package job

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// ParseJSON reads a record as AppendJSON writes it into r, with the same result as encoding/json. It returns false if
// the record has another form, because another program wrote it, or has rare parts. Then r is undefined, and
// encoding/json must decode the record.
func (r *Run) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	s.run(r)
	return s.end()
}

func (s *scanner) run(r *Run) {
	*r = Run{Rev: r.Rev}
	r.Job = s.must(`{"job":`)
	r.ID = s.must(`,"id":`)
	r.Kind = s.kind(`,"kind":`)
	r.Slot = s.mustTime(`,"slot":`)
	r.Due = s.mustTime(`,"due":`)
	r.State = s.state(`,"state":`)
	r.Reason = s.string(`,"reason":`)
	r.Late = s.next(`,"late":true`)
	r.Attempt = int(s.number(`,"attempt":`))
	r.Worker = s.string(`,"worker":`)
	r.Session = s.string(`,"session":`)
	r.Token = s.number(`,"token":`)
	r.Armed = s.time(`,"armed":`)
	r.Ahead = s.next(`,"ahead":true`)
	r.Limits = s.strings(`,"limits":[`)
	r.Started = s.time(`,"started":`)
	r.Bound = s.duration(`,"bound":`)
	r.Finished = s.time(`,"finished":`)
	r.Attempts = s.attempts()
	r.LostMore = int(s.number(`,"lost_more":`))
	r.Exit = s.exit()
	r.Output = s.string(`,"output":`)
	r.Key = s.string(`,"key":`)
	r.RetryOf = s.string(`,"retry_of":`)
	r.By = s.string(`,"by":`)
	r.Created = s.mustTime(`,"created":`)
	r.Generation = s.number(`,"generation":`)
	r.Term = s.number(`,"term":`)
	r.Op = s.string(`,"op":`)
	s.expect(`}`)
}

func (s *scanner) attempts() (list []Attempt) {
	if !s.next(`,"attempts":[`) {
		return nil
	}
	for more := true; more && !s.bad; more = s.next(`,`) {
		var a Attempt
		a.Number = int(s.mustNumber(`{"number":`))
		a.Worker = s.must(`,"worker":`)
		a.Token = s.mustNumber(`,"token":`)
		a.Started = s.time(`,"started":`)
		a.Finished = s.mustTime(`,"finished":`)
		a.State = s.state(`,"state":`)
		a.Reason = s.string(`,"reason":`)
		a.Exit = s.exit()
		a.GivenUp = s.next(`,"given_up":true`)
		s.expect(`}`)
		list = append(list, a)
	}
	s.expect(`]`)
	return list
}

// ParseJSON is Run.ParseJSON for a cursor.
func (c *Cursor) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*c = Cursor{Rev: c.Rev}
	c.Job = s.must(`{"job":`)
	c.After = s.mustTime(`,"after":`)
	c.Next = s.time(`,"next":`)
	c.Generation = s.mustNumber(`,"generation":`)
	c.Term = s.mustNumber(`,"term":`)
	c.Op = s.string(`,"op":`)
	s.expect(`}`)
	return s.end()
}

// ParseJSON is Run.ParseJSON for an order.
func (o *Order) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*o = Order{Rev: o.Rev}
	o.ID = s.must(`{"id":`)
	o.Session = s.must(`,"session":`)
	if s.next(`,"jobs":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			o.JobRevs = append(o.JobRevs, s.digits())
		}
		s.expect(`]`)
	}
	if s.next(`,"stop":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			o.Stop = append(o.Stop, string(s.quoted()))
		}
		s.expect(`]`)
	}
	if s.next(`,"runs":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			if o.Runs == nil {
				o.Runs = make([]Run, 0, max(1, len(o.JobRevs)))
			}
			o.Runs = append(o.Runs, Run{})
			s.run(&o.Runs[len(o.Runs)-1])
		}
		s.expect(`]`)
	}
	s.expect(`}`)
	return s.end()
}

// scanner reads fields in the order in which they are written, each after its lead, the text before its value. Methods
// whose name begins with must require the field; for the others it may be missing.
type scanner struct {
	b     []byte
	bad   bool
	first bool // the next field is the first of an object, and has no comma before it
}

// end reports whether everything was read.
func (s *scanner) end() bool { return !s.bad && len(s.b) == 0 }

// next skips text and returns true if it comes next.
func (s *scanner) next(text string) bool {
	if s.first {
		text = text[1:]
	}
	if len(s.b) < len(text) || string(s.b[:len(text)]) != text {
		return false
	}
	s.b = s.b[len(text):]
	s.first = false
	return true
}

func (s *scanner) expect(text string) {
	if !s.next(text) {
		s.bad = true
	}
}

// quoted returns the text between quotes if it is ASCII without escapes.
func (s *scanner) quoted() []byte {
	if len(s.b) == 0 || s.b[0] != '"' {
		s.bad = true
		return nil
	}
	n := bytes.IndexByte(s.b[1:], '"')
	if n < 0 {
		s.bad = true
		return nil
	}
	text := s.b[1 : n+1]
	for _, c := range text {
		if c < ' ' || c >= utf8.RuneSelf || c == '\\' {
			s.bad = true
			return nil
		}
	}
	s.b = s.b[n+2:]
	return text
}

func (s *scanner) string(lead string) string {
	if !s.next(lead) {
		return ""
	}
	return string(s.quoted())
}

func (s *scanner) must(lead string) string {
	s.expect(lead)
	return string(s.quoted())
}

// kind is must for a RunKind. The known kinds need no allocation.
func (s *scanner) kind(lead string) RunKind {
	s.expect(lead)
	text := s.quoted()
	for _, k := range [...]RunKind{KindScheduled, KindManual, KindDelayed, KindRetry} {
		if string(text) == string(k) {
			return k
		}
	}
	return RunKind(text)
}

func (s *scanner) state(lead string) State {
	s.expect(lead)
	text := s.quoted()
	for _, k := range [...]State{Pending, Armed, Running, Succeeded, Failed, TimedOut, Canceled, Lost, Skipped} {
		if string(text) == string(k) {
			return k
		}
	}
	return State(text)
}

func (s *scanner) number(lead string) int64 {
	if !s.next(lead) {
		return 0
	}
	return s.digits()
}

func (s *scanner) mustNumber(lead string) int64 {
	s.expect(lead)
	return s.digits()
}

// digits reads a whole number of at most 18 digits without leading zeros.
func (s *scanner) digits() (n int64) {
	minus := s.next(`-`)
	i := 0
	for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
		n = n*10 + int64(s.b[i]-'0')
		i++
	}
	if i == 0 || i > 18 || i > 1 && s.b[0] == '0' {
		s.bad = true
		return 0
	}
	s.b = s.b[i:]
	if minus {
		return -n
	}
	return n
}

func (s *scanner) exit() *int {
	if !s.next(`,"exit":`) {
		return nil
	}
	n := int(s.digits())
	return &n
}

func (s *scanner) time(lead string) time.Time {
	if !s.next(lead) {
		return time.Time{}
	}
	return s.instant()
}

func (s *scanner) mustTime(lead string) time.Time {
	s.expect(lead)
	return s.instant()
}

func (s *scanner) duration(lead string) Duration {
	if !s.next(lead) {
		return 0
	}
	return s.span()
}

// span reads "1h30m".
func (s *scanner) span() Duration {
	d, err := time.ParseDuration(string(s.quoted()))
	if err != nil {
		s.bad = true
	}
	return Duration(d)
}

// instant reads "2006-01-02T15:04:05.999999999Z".
func (s *scanner) instant() time.Time {
	b := s.quoted()
	const whole = len("2006-01-02T15:04:05")
	if len(b) <= whole || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[len(b)-1] != 'Z' {
		s.bad = true
		return time.Time{}
	}
	year, month, day := s.decimal(b[:4]), s.decimal(b[5:7]), s.decimal(b[8:10])
	hour, minute, second := s.decimal(b[11:13]), s.decimal(b[14:16]), s.decimal(b[17:19])
	nanos := 0
	if fraction := b[whole : len(b)-1]; len(fraction) > 0 {
		if fraction[0] != '.' || len(fraction) < 2 || len(fraction) > 10 {
			s.bad = true
			return time.Time{}
		}
		nanos = s.decimal(fraction[1:])
		for range 10 - len(fraction) {
			nanos *= 10
		}
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if month < 1 || month > 12 || day < 1 || t.Day() != day || hour > 23 || minute > 59 || second > 59 {
		s.bad = true // time.Date normalizes excess values
	}
	return t
}

func (s *scanner) decimal(b []byte) (n int) {
	for _, c := range b {
		if c < '0' || c > '9' {
			s.bad = true
		}
		n = n*10 + int(c-'0')
	}
	return n
}
