package job

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

// scanner reads fields in the order in which AppendJSON writes them. The lead of a field is the text before its value.
// Methods whose name begins with must require the field; for the others it may be missing.
type scanner struct {
	b     []byte
	bad   bool
	first bool // the next field is the first of an object, and has no comma before it

	texts [9]text // found texts that copyTexts has not stored yet
	found int     // how many texts there are
}

// text is a part of the input that becomes a string.
type text struct {
	from []byte
	to   *string
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

// text reads a text into to, when copyTexts is called.
func (s *scanner) text(lead string, to *string) {
	if s.next(lead) {
		s.addText(to)
	}
}

func (s *scanner) mustText(lead string, to *string) {
	s.expect(lead)
	s.addText(to)
}

func (s *scanner) addText(to *string) {
	if s.found == len(s.texts) {
		s.copyTexts()
	}
	s.texts[s.found] = text{s.quoted(), to}
	s.found++
}

// copyTexts stores the texts that were found since its last call. One allocation holds all of them.
func (s *scanner) copyTexts() {
	size := 0
	for _, t := range s.texts[:s.found] {
		size += len(t.from)
	}
	var all strings.Builder
	all.Grow(size)
	for _, t := range s.texts[:s.found] {
		from := all.Len()
		all.Write(t.from)
		*t.to = all.String()[from:]
	}
	s.found = 0
}

// same reads a text that is probably equal to usual. Then it needs no allocation.
func (s *scanner) same(usual string) string {
	if text := s.quoted(); string(text) != usual {
		return string(text)
	}
	return usual
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
	text := s.quoted()
	if d, plain := plainSpan(text); plain {
		return Duration(d)
	}
	d, err := time.ParseDuration(string(text))
	if err != nil {
		s.bad = true
	}
	return Duration(d)
}

// plainSpan reads whole hours, minutes and seconds, without an allocation. It returns false for any other text.
func plainSpan(text []byte) (d time.Duration, plain bool) {
	if len(text) > len("99h59m59s") { // a longer one might overflow
		return 0, false
	}
	n, digits := 0, 0
	for i, c := range text {
		var unit time.Duration
		switch {
		case c >= '0' && c <= '9':
			n, digits = 10*n+int(c-'0'), digits+1
			continue
		case c == 'h':
			unit = time.Hour
		case c == 'm' && (i+1 == len(text) || text[i+1] != 's'):
			unit = time.Minute
		case c == 's':
			unit = time.Second
		}
		if unit == 0 || digits == 0 || digits > 6 {
			return 0, false
		}
		d, n, digits = d+time.Duration(n)*unit, 0, 0
	}
	return d, d > 0 && digits == 0
}

// instant reads "2006-01-02T15:04:05.999999999Z" between quotes.
func (s *scanner) instant() time.Time {
	const whole = len("2006-01-02T15:04:05")
	end := bytes.IndexByte(s.b, 'Z')
	if end < 1+whole || end > 1+len("2006-01-02T15:04:05.999999999") || len(s.b) < end+2 || s.b[0] != '"' || s.b[end+1] != '"' {
		s.bad = true
		return time.Time{}
	}
	b, fraction := s.b[1:1+whole], s.b[1+whole:end]
	s.b = s.b[end+2:]
	if b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		s.bad = true
		return time.Time{}
	}
	year, month, day := 100*s.pair(b)+s.pair(b[2:]), s.pair(b[5:]), s.pair(b[8:])
	hour, minute, second := s.pair(b[11:]), s.pair(b[14:]), s.pair(b[17:])
	t := time.Date(year, time.Month(month), day, hour, minute, second, s.fraction(fraction), time.UTC)
	if month < 1 || month > 12 || day < 1 || day > 28 && t.Day() != day || hour > 23 || minute > 59 || second > 59 {
		s.bad = true // time.Date normalizes excess values
	}
	return t
}

// pair reads a number of two digits, with which b begins.
func (s *scanner) pair(b []byte) int {
	tens, ones := b[0]-'0', b[1]-'0'
	if tens > 9 || ones > 9 {
		s.bad = true
	}
	return 10*int(tens) + int(ones)
}

// fraction reads ".999999999", and returns nanoseconds. b may be empty.
func (s *scanner) fraction(b []byte) (nanos int) {
	if len(b) == 0 {
		return 0
	}
	if len(b) == 1 || b[0] != '.' {
		s.bad = true
	}
	unit := int(time.Second)
	for _, c := range b[1:] {
		if c < '0' || c > '9' {
			s.bad = true
		}
		unit /= 10
		nanos += unit * int(c-'0')
	}
	return nanos
}
