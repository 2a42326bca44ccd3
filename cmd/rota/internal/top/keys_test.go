package top

import (
	"errors"
	"testing"
	"time"
)

// TestKeysWaitForTheList presses keys faster than the cluster answers.
func TestKeysWaitForTheList(t *testing.T) {
	s := begin(t)
	jobs, runs := Query{}, Query{Kind: Runs, Job: "charge"}
	s.send(Key("down"), Key("right"), Key("G"), Key("enter"), Key("c"))
	s.shows("Key c needs the list")
	s.send(Got{snapshot(jobs), true})
	s.shows("› charge")
	if e := s.last; e.Read == nil || *e.Read != runs || !e.Chain || e.Wait {
		t.Fatalf("the next read is %+v, want the runs of charge, which continue the chain", e)
	}
	s.send(Got{snapshot(runs), true})
	s.shows("› charge › backup/a")
	s.send(Key("enter"), Key("esc"), Key("esc"), Got{snapshot(jobs), false}) // going back forgets keys
	s.lacks("›")
	s.send(Key("enter"), Key("enter"), Got{Snapshot{At: noon, Err: errors.New("no answer")}, false}, Got{snapshot(runs), true})
	s.lacks("› charge ›") // an error forgets them too
	if !s.last.Wait {
		t.Error("no pause follows a snapshot without keys that wait for it")
	}
	s.send(Key("esc"), Key("enter"), Key("/"), Key("x"), Got{snapshot(jobs), false}, Key("w")) // the filter gets its keys
	s.shows("xw")
	s.lacks("›")
}

func TestALongListIsReadLessOften(t *testing.T) {
	for rows, want := range map[int]time.Duration{0: time.Second, 2000: time.Second, 10_000: 5 * time.Second, 1_000_000: 10 * time.Second} {
		if got := PauseAfter(rows); got != want {
			t.Errorf("%d rows: %v, want %v", rows, got, want)
		}
	}
}
