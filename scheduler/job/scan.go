package job

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// scanner reads fields in the order in which AppendJSON writes them. The lead of a field is the text before its value.
// Methods whose name begins with must require the field; for the others it may be missing.
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

// kind reads a RunKind, which must not be missing. The known kinds need no allocation.
func (s *scanner) kind(lead string) RunKind {
	s.expect(lead)
	text := s.quoted()
	for _, k := range [...]RunKind{KindScheduled, KindManual, KindDelayed, KindRetry, KindBackfill, KindCopy} {
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
