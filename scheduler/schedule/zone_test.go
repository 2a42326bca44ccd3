package schedule

import (
	"encoding/binary"
	"testing"
	"time"
)

// ruleZone builds a zone that follows a POSIX rule from the beginning of time.
func ruleZone(t *testing.T, rule string) *time.Location {
	t.Helper()
	block := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one type, whose name takes four bytes
		block = binary.BigEndian.AppendUint32(block, count)
	}
	block = append(block, 0, 0, 0, 0, 0, 0, 'X', 'X', 'X', 0)
	data := append(append([]byte{}, block...), block...)
	zone, err := time.LoadLocationFromTZData("Test/Rule", []byte(string(data)+"\n"+rule+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// At midnight UTC between two years, Go's zone bounds end although the offset does not change. This test sets clocks back near
// that midnight. No zone does that today, but jobs in such a zone would run twice.
func TestFoldsAtTheTurnOfTheYear(t *testing.T) {
	for _, tc := range []struct {
		claim, rule string
		expr        string
		fold        Fold
		want        string
	}{
		{"back just before it, first", "XXX1YYY0,M6.1.0/1,J365/23:45", "30 23 31 12 *", FoldFirst, "2026-12-31T23:30:00Z"},
		{"back just before it, last", "XXX1YYY0,M6.1.0/1,J365/23:45", "30 23 31 12 *", FoldLast, "2027-01-01T00:30:00Z"},
		{"back just after it, first", "XXX1YYY0,M6.1.0/1,J1/00:30", "45 23 31 12 *", FoldFirst, "2026-12-31T23:45:00Z"},
		{"back just after it, last", "XXX1YYY0,M6.1.0/1,J1/00:30", "45 23 31 12 *", FoldLast, "2027-01-01T00:45:00Z"},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			s, err := Parse(Spec{Cron: []string{tc.expr}, Fold: tc.fold})
			if err != nil {
				t.Fatal(err)
			}
			s.zone = ruleZone(t, tc.rule)
			from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			slots := s.Last(from, from.AddDate(0, 2, 0), 5)
			if len(slots) != 1 || slots[0].Format(time.RFC3339) != tc.want {
				t.Errorf("slots = %v, want only %s", slots, tc.want)
			}
		})
	}
}

// TestBoundsContainTheirInstant guards against an endless search on the last day of a leap year.
func TestBoundsContainTheirInstant(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2043, 12, 30, 0, 0, 0, 0, time.UTC)
	for end := at.AddDate(2, 0, 3); at.Before(end); at = at.Add(time.Hour) {
		s := spanAt(zone, at.Unix())
		_, offset := at.In(zone).Zone()
		if s.start > at.Unix() || s.end <= at.Unix() || s.offset != int64(offset) {
			t.Fatalf("at %v: %+v, offset %d", at, s, offset)
		}
	}
}
