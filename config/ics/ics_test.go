package ics_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/config/ics"
)

// file returns a calendar with events, each given by its lines.
func file(events ...string) []byte {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\n")
	for i, e := range events {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nUID:%d\r\n%s\r\nEND:VEVENT\r\n", i, strings.ReplaceAll(e, "\n", "\r\n"))
	}
	b.WriteString("END:VCALENDAR\r\n")
	return []byte(b.String())
}

func TestDays(t *testing.T) {
	for claim, tt := range map[string]struct {
		events []string
		want   string
	}{
		"an event of one day":                     {[]string{"DTSTART;VALUE=DATE:20261225"}, "2026-12-25"},
		"the end does not belong to the event":    {[]string{"DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227"}, "2026-12-25 2026-12-26"},
		"midnight to midnight is a whole day":     {[]string{"DTSTART;TZID=Europe/Berlin:20261225T000000\nDTEND;TZID=Europe/Berlin:20261226T000000"}, "2026-12-25"},
		"a duration in days":                      {[]string{"DTSTART;VALUE=DATE:20261225\nDURATION:P2D"}, "2026-12-25 2026-12-26"},
		"a duration in hours":                     {[]string{"DTSTART:20261225T000000\nDURATION:PT48H"}, "2026-12-25 2026-12-26"},
		"a rule, and an exception":                {[]string{"DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY;UNTIL=20291225\nEXDATE;VALUE=DATE:20271225"}, "2026-12-25 2028-12-25 2029-12-25"},
		"the fourth Thursday of November":         {[]string{"DTSTART;VALUE=DATE:20261126\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=3"}, "2026-11-26 2027-11-25 2028-11-23"},
		"more dates":                              {[]string{"DTSTART;VALUE=DATE:20261225\nRDATE;VALUE=DATE:20270101,20270102"}, "2026-12-25 2027-01-01 2027-01-02"},
		"a cancelled event has no days":           {[]string{"DTSTART;VALUE=DATE:20261225", "DTSTART;VALUE=DATE:20261226\nSTATUS:CANCELLED"}, "2026-12-25"},
		"a folded line":                           {[]string{"DTSTART;VALUE=DA\n TE:20261225\nSUMMARY:long\n er"}, "2026-12-25"},
		"the end of a rule, east of UTC":          {[]string{"DTSTART;TZID=Europe/Berlin:20261225T000000\nDURATION:P1D\nRRULE:FREQ=DAILY;UNTIL=20261226T230000Z"}, "2026-12-25 2026-12-26 2026-12-27"},
		"the end of a rule, west of UTC":          {[]string{"DTSTART;tzid=America/New_York:20261225T000000\nDURATION:P1D\nRRULE:FREQ=DAILY;UNTIL=20261227T045959Z"}, "2026-12-25 2026-12-26"},
		"a rule in small letters":                 {[]string{"DTSTART;VALUE=DATE:20261225\nRRULE:freq=weekly;count=2;byday=fr"}, "2026-12-25 2027-01-01"},
		"the last day of each month, by position": {[]string{"DTSTART;VALUE=DATE:20260131\nRRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3"}, "2026-01-31 2026-02-28 2026-03-31"},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := ics.Days(file(tt.events...))
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// outlook is the description of a zone as Outlook writes it.
const outlook = "BEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\n" +
	"BEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nTZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\n" +
	"RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10\r\nEND:STANDARD\r\n" +
	"BEGIN:DAYLIGHT\r\nDTSTART:16010101T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n" +
	"RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"

// TestTimesInUTCAreThoseOfTheZone has events with a zone whose other times are in UTC.
func TestTimesInUTCAreThoseOfTheZone(t *testing.T) {
	const berlin, windows = "Europe/Berlin", "W. Europe Standard Time"
	for claim, tt := range map[string]struct{ zone, rest, want string }{
		"the end of a rule in winter": {windows, "RRULE:FREQ=DAILY;UNTIL=20261226T230000Z", "2026-12-25 2026-12-26 2026-12-27"},
		"the end of a rule in summer": {windows, "RRULE:FREQ=MONTHLY;BYMONTH=12,7;BYMONTHDAY=1,25;UNTIL=20270630T220000Z", "2026-12-25 2027-07-01"},
		"an exception":                {berlin, "RRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261225T230000Z", "2026-12-25 2026-12-27"},
		"more dates":                  {windows, "RDATE:20270630T220000Z,20271130T230000Z", "2026-12-25 2027-07-01 2027-12-01"},
		"with quotes":                 {`"` + windows + `"`, "RDATE:20270630T220000Z", "2026-12-25 2027-07-01"},
	} {
		text := file("DTSTART;TZID=" + tt.zone + ":20261225T000000\nDURATION:P1D\n" + tt.rest)
		text = bytes.Replace(text, []byte("BEGIN:VEVENT"), []byte(outlook+"BEGIN:VEVENT"), 1)
		if got, err := ics.Days(text); err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, %v; want %s", claim, got, err, tt.want)
		}
	}
}

func TestAByteOrderMarkIsNoMistake(t *testing.T) {
	got, err := ics.Days(slices.Concat([]byte("\ufeff"), file("DTSTART;VALUE=DATE:20261225")))
	if err != nil || strings.Join(got, " ") != "2026-12-25" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnOccurrenceThatIsReplacedIsNoDay(t *testing.T) {
	const text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:x\nDTSTART;VALUE=DATE:20261225\nRRULE:FREQ=DAILY;COUNT=2\nEND:VEVENT\n" +
		"BEGIN:VEVENT\nUID:x\nDTSTART;VALUE=DATE:20270101\nRECURRENCE-ID;VALUE=DATE:20261226\nEND:VEVENT\nEND:VCALENDAR\n"
	got, err := ics.Days([]byte(text))
	if err != nil || strings.Join(got, " ") != "2026-12-25 2027-01-01" {
		t.Errorf("got %v, %v", got, err)
	}
}

// RFC 5545: the case of names does not count. Nothing may be left out because of it.
func TestNamesInSmallLetters(t *testing.T) {
	for claim, text := range map[string]string{
		"properties": "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\ndtstart;value=date:20270101\r\nrrule:FREQ=DAILY;COUNT=3\r\n" +
			"Exdate;VALUE=DATE:20270102\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		"a rule": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20270101\nrrule:FREQ=DAILY;COUNT=3\n" +
			"EXDATE;VALUE=DATE:20270102\nEND:VEVENT\nEND:VCALENDAR\n",
		"an event": "begin:vcalendar\r\nbegin:vevent\r\nDTSTART;VALUE=DATE:20270101\r\nend:vevent\r\n" +
			"BEGIN:VEVENT \r\nDTSTART;VALUE=DATE:20270103\r\nEND:VEVENT\r\nEnd:Vcalendar\r\n",
	} {
		if got, err := ics.Days([]byte(text)); err != nil || strings.Join(got, " ") != "2027-01-01 2027-01-03" {
			t.Errorf("%s: got %v, %v", claim, got, err)
		}
	}
}

func TestARuleWithoutEndReachesTheHorizon(t *testing.T) {
	got, err := ics.Days(file("DTSTART;VALUE=DATE:20000101\nRRULE:FREQ=YEARLY"))
	if err != nil || len(got) != 100 || got[99] != "2099-01-01" {
		t.Errorf("got %d days, %v", len(got), err)
	}
}

func TestMistakesHaveAPlaceAndAHint(t *testing.T) {
	for want, text := range map[string][]byte{
		"line 1: does not begin with BEGIN:VCALENDAR":          []byte("<html>log in</html>"),
		"line 7: does not end with END:VCALENDAR":              file("DTSTART;VALUE=DATE:20261225")[:110],
		"line 4: the event that begins here has a time of day": file("DTSTART:20261224T130000Z\nDTEND:20261224T230000Z"),
		"line 8: the event that begins here has no DTSTART":    file("DTSTART;VALUE=DATE:20261225", "SUMMARY:x"),
		"which is no date":                                       file("DTSTART;VALUE=DATE:2026-12-25"),
		"takes -1 days":                                          file("DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261224"),
		"RRULE that cannot be read":                              file("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=OFTEN"),
		"RRULE with times of day":                                file("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=SECONDLY"),
		"has more than 10000 days up to 2099":                    file("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=DAILY"),
		"has no event":                                           file(),
		"larger than 1 MiB":                                      slices.Concat(file(), make([]byte, ics.MaxSize)),
		"line 5: is not UTF-8 text":                              slices.Concat(file()[:40], []byte("\n\n\xff")),
		"more than 200 recurring events":                         file(slices.Repeat([]string{"DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY"}, 201)...),
		"the event that begins here recurs since 1601":           file("DTSTART;VALUE=DATE:16010101\nRRULE:FREQ=YEARLY"),
		"has a time of day (EXDATE 20271225T120000); a calendar": file("DTSTART;VALUE=DATE:20261225\nEXDATE:20271225T120000"),
		"its zone \"Tidal\" is unknown":                          file("DTSTART;TZID=Tidal:20261225T000000\nDURATION:P1D\nRRULE:FREQ=DAILY;UNTIL=20261226T230000Z"),
		"the EXDATE 20261225T230000Z in UTC, and its zone \"W. Europe Standard Time\" is unknown": file("DTSTART;TZID=W. Europe Standard Time:20261225T000000\nDURATION:P1D\nEXDATE:20261225T230000Z"),
		"its zone \"Local\" is unknown": file("DTSTART;TZID=Local:20261225T000000\nDURATION:P1D\nRRULE:FREQ=DAILY;UNTIL=20261226T230000Z"),
		"has days after the year 9999":  file("DTSTART;VALUE=DATE:99991231\nDURATION:P2D"),
		"RECURRENCE-ID with RANGE":      file("DTSTART;VALUE=DATE:20261225\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261225"),
	} {
		_, err := ics.Days(text)
		var mistake *ics.Error
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) || mistake.Hint == "" {
			t.Errorf("got %v, want %q with a hint", err, want)
		}
	}
}

// TestHostileRulesTakeLittleTime has as many rules as allowed that never match, and zones with a change each day.
func TestHostileRulesTakeLittleTime(t *testing.T) {
	rules := file(slices.Repeat([]string{"DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, 200)...)
	never := strings.NewReplacer("INTERVAL=1;BYDAY=-1SU", "BYMONTHDAY=30", "=10", "=2", "=3", "=2").Replace(outlook)
	for i := range 100 {
		zone := strings.Replace(never, "W. Europe", fmt.Sprint(i), 1)
		rules = bytes.Replace(rules, []byte("BEGIN:VEVENT"), []byte(zone+"BEGIN:VEVENT"), 1)
	}
	daily := strings.ReplaceAll(outlook, "INTERVAL=1;BYDAY=-1SU;BYMONTH=10", "BYDAY=MO,TU,WE,TH,FR,SA,SU")
	daily = strings.ReplaceAll(daily, "INTERVAL=1;BYDAY=-1SU;BYMONTH=3", "BYDAY=MO,TU,WE,TH,FR,SA,SU")
	head, parts, _ := strings.Cut(strings.TrimSuffix(daily, "END:VTIMEZONE\r\n"), "BEGIN:STANDARD")
	daily = head + strings.Repeat("BEGIN:STANDARD"+parts, 10) + "END:VTIMEZONE\r\n"
	changes := file(slices.Repeat([]string{
		"DTSTART;TZID=W. Europe Standard Time:20261225T000000\nDURATION:P1D\nEXDATE:20261225T230000Z",
	}, 6000)...)
	changes = bytes.Replace(changes, []byte("BEGIN:VEVENT"), []byte(daily+"BEGIN:VEVENT"), 1)
	for _, text := range [][]byte{rules, changes} {
		began := time.Now()
		_, err := ics.Days(text)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("took %v: %v", took, err)
		} else {
			t.Log(took)
		}
	}
}

func FuzzDays(f *testing.F) {
	f.Add(file("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;COUNT=3\nEXDATE;VALUE=DATE:20271225"))
	f.Add(file("DTSTART;TZID=Europe/Berlin:20261225T000000\nDURATION:PT24H\nRDATE;VALUE=DATE:20270101"))
	f.Add(file("DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=WEEKLY;INTERVAL=3;WKST=SU;BYSETPOS=-1;BYDAY=MO,TU"))
	f.Fuzz(func(t *testing.T, text []byte) {
		days, err := ics.Days(text)
		if err != nil {
			if _, ok := errors.AsType[*ics.Error](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if len(days) == 0 || len(days) > ics.MaxDays || !slices.IsSorted(days) {
			t.Errorf("%d days", len(days))
		}
		for _, d := range days {
			if _, err := time.Parse(time.DateOnly, d); err != nil {
				t.Error(err)
			}
		}
	})
}
