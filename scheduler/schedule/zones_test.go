package schedule_test

import (
	"archive/zip"
	"fmt"
	"hash/crc32"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// zoneNames returns one name for each distinct zone of Go's database.
func zoneNames(t testing.TB) []string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("NOT TESTED: no go command to find the zone database with: %v", err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	var names []string
	seen := map[uint32]bool{}
	for _, f := range archive.File {
		if f.FileInfo().IsDir() || f.Name == "Factory" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		sum := crc32.NewIEEE()
		if _, err := io.Copy(sum, r); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if !seen[sum.Sum32()] {
			seen[sum.Sum32()] = true
			names = append(names, f.Name)
		}
	}
	if len(names) < 300 {
		t.Fatalf("found only %d zones", len(names))
	}
	return names
}

// TestDailyJobsFireOnEveryDayOfEveryZone walks daily jobs through 1970 to 2100 in every zone and compares each slot with
// what time.Date says about that day.
func TestDailyJobsFireOnEveryDayOfEveryZone(t *testing.T) {
	names := zoneNames(t)
	daily := []struct{ hour, minute int }{{2, 30}, {0, 0}, {23, 45}, {1, 15}, {3, 7}, {12, 0}}
	for i, name := range names {
		if (sampled || testing.Short()) && i%20 != 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			if err != nil {
				t.Fatal(err)
			}
			at := daily[i%len(daily)]
			for _, fold := range []schedule.Fold{schedule.FoldFirst, schedule.FoldLast} {
				expr := fmt.Sprintf("%d %d * * *", at.minute, at.hour)
				s := parse(t, with(cron(expr, name), schedule.GapRun, fold))
				walkDaily(t, s, zone, at.hour, at.minute, fold)
				at = daily[(i+1)%len(daily)]
			}
		})
	}
}

func walkDaily(t *testing.T, s *schedule.Schedule, zone *time.Location, hour, minute int, fold schedule.Fold) {
	day := time.Date(1970, 1, 3, hour, minute, 0, 0, time.UTC)
	end := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
	previous := time.Date(1970, 1, 3, hour, minute, 0, 0, zone).Add(-12 * time.Hour)
	for ; day.Before(end); day = day.AddDate(0, 0, 1) {
		want := expected(day, zone, fold)
		if want.Equal(previous) {
			continue // the day does not exist, and its slot is the next day's
		}
		got, ok := s.Next(previous)
		if !ok || !got.Equal(want) {
			t.Fatalf("on %s: slot %v, want %v", day.Format(time.DateTime), got.In(zone), want.In(zone))
		}
		previous = got
	}
}

// expected returns the slot of a wall time, given as if it were UTC.
func expected(wall time.Time, zone *time.Location, fold schedule.Fold) time.Time {
	_, before := wall.Add(-26 * time.Hour).In(zone).Zone()
	_, after := wall.Add(26 * time.Hour).In(zone).Zone()
	early := wall.Add(-time.Duration(before) * time.Second)
	if before == after {
		return early
	}
	late := wall.Add(-time.Duration(after) * time.Second)
	shows := func(at time.Time) bool {
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second).Equal(wall)
	}
	switch {
	case shows(early) && shows(late) && fold == schedule.FoldLast, !shows(early) && shows(late):
		return late
	}
	return early // early is the only instant, the first of two, or the moved instant of a time that the clock jumps over
}

// TestZonesChangeTheirOffsetRarely guards the assumption that at most one change of offset affects a wall time.
func TestZonesChangeTheirOffsetRarely(t *testing.T) {
	for _, name := range zoneNames(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		for at := time.Date(1970, 1, 1, 0, 0, 0, 0, zone); at.Year() < 2045; {
			_, end := at.ZoneBounds()
			if end.IsZero() {
				break
			}
			if !end.After(at) {
				end = at.Add(24 * time.Hour)
			}
			_, before := at.Zone()
			_, after := end.Zone()
			if before != after {
				if end.Sub(last) < 3*24*time.Hour {
					t.Errorf("%s changes at %v and at %v", name, last, end)
				}
				last = end
			}
			at = end
		}
	}
}

// TestSlotsAscendInEveryZone walks dense schedules over the changes of a year in every zone.
func TestSlotsAscendInEveryZone(t *testing.T) {
	for i, name := range zoneNames(t) {
		if (sampled || testing.Short()) && i%20 != 0 {
			continue
		}
		for _, expr := range []string{"*/17 * * * *", "0,40 0-4,22-23 * * *", "*/20 */3 * * *"} {
			for _, fold := range schedule.Folds() {
				s := parse(t, with(cron(expr, name), schedule.GapRun, fold))
				end := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
				steps := 0
				for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end); steps++ {
					next, ok := s.Next(at)
					if !ok || !next.After(at) || next.Sub(at) > 26*time.Hour {
						t.Fatalf("%s %s %s: after %v comes %v, %v", name, expr, fold, at, next, ok)
					}
					at = next
				}
				if steps < 365*8 {
					t.Fatalf("%s %s %s: %d slots in a year", name, expr, fold, steps)
				}
			}
		}
	}
}
