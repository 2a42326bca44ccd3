package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// terms shows who led the cluster in the last week.
type terms struct {
	Bars      []termBar
	List      []term // the latest first
	Takeovers int
	Leads     bool // the latest leader leads; otherwise, the end of its term is unknown
	From, Now time.Time
}

// term is the time in which one replica led.
type term struct {
	Node        string
	From, Until time.Time // Until zero: it leads
	Gap         time.Duration
	Text        string
}

// termBar is a term on the time line, of 1000.
type termBar struct {
	X, Width float64
	Class    string
	Title    string
}

// termSpan is how far back the view of the cluster looks, and shownTerms how many terms it lists.
const (
	termSpan   = 7 * 24 * time.Hour
	shownTerms = 10
	minTerm    = 4 // the width of a short term, of 1000
)

// terms reads the takeovers of the last week. The client may lack the right; then there are none.
func (s *site) terms(r *http.Request, leads bool) (*terms, error) {
	line, err := get[api.Timeline](s, r, "/v1/timeline?members=true&limit=2000&since=720h")
	if err != nil {
		return nil, err
	}
	return termsOf(line.Entries, s.ops.Now(), leads), nil
}

// termsOf draws the terms of a week. entries has the oldest first. leads says that the latest leader leads still.
func termsOf(entries []timeline.Entry, now time.Time, leads bool) *terms {
	t := &terms{From: now.Add(-termSpan), Now: now, Leads: leads}
	var all []term
	for i := range entries {
		if e := &entries[i]; e.Kind == timeline.KindLeader {
			if n := len(all); n > 0 {
				all[n-1].Until = e.At
				if !e.From.IsZero() && e.From.Before(e.At) && e.From.After(all[n-1].From) {
					all[n-1].Until = e.From
				}
			}
			next := term{Node: e.Node, From: e.At, Text: e.Text}
			if !e.From.IsZero() {
				next.Gap = e.At.Sub(e.From)
			}
			all = append(all, next)
		}
	}
	place := func(at time.Time) float64 {
		return max(0, min(1000, float64(at.Sub(t.From))/float64(termSpan)*1000))
	}
	for i := range all {
		one := &all[i]
		end := one.Until
		if end.IsZero() {
			end = now
			if !leads {
				end = one.From // it is unknown when it stopped
			}
		}
		if end.Before(t.From) {
			continue
		}
		if one.From.After(t.From) && i > 0 {
			t.Takeovers++
		}
		width := max(minTerm, place(end)-place(one.From)-0.5)
		x := min(place(one.From), 1000-width)
		class := "run"
		if len(t.Bars)%2 == 1 {
			class = "off"
		}
		t.Bars = append(t.Bars, termBar{
			X: round(x), Width: round(width), Class: class,
			Title: fmt.Sprintf("%s leads from %s UTC", one.Node, one.From.UTC().Format(longTime)),
		})
		t.List = append(t.List, *one)
	}
	slices.Reverse(t.List)
	t.List = t.List[:min(shownTerms, len(t.List))]
	return t
}
