package history

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Sizes of a picture, in pixels.
const (
	pictureWidth = 1480
	nameWidth    = 200
	rightMargin  = 30
	rowHeight    = 24
	lineHeight   = 17
	maxRows      = 40
	maxFindings  = 20
	maxSlots     = 2000 // in a row with more slots, only the bad ones are shown
)

// The colours of Okabe and Ito, which people with colour blindness can distinguish.
const (
	green, sky, blue     = "#009E73", "#56B4E9", "#0072B2"
	orange, vermillion   = "#E69F00", "#D55E00"
	purple, grey, yellow = "#CC79A7", "#999999", "#F0E442"
	ink, faint           = "#222222", "#777777"
)

// colourOf returns the colour of a grade. Bad grades have a cross too.
func colourOf(g Grade) string {
	switch {
	case g == OK:
		return green
	case g == Again:
		return blue
	case g == LateQueued:
		return yellow
	case g == LateInFault:
		return sky
	case g == Late:
		return orange
	case g.Bad():
		return vermillion
	}
	return grey
}

// picture is one drawing of a history.
type picture struct {
	*svg
	h        History
	t        *timeline
	v        Verdict
	from, to time.Time
	rows     []row
	left     int // number of jobs without a row
	leftBad  int // number of those with violations
	top      int // y of the first row
}

// row is the row of one job.
type row struct {
	job     string
	bad     int // bad slots and further violations
	notable int // slots with another grade than ok
	graded  []SlotGrade
	effects []Effect
}

// Draw writes a picture of a history as SVG. Time runs to the right, and each job has a row, those with violations first. Above
// them are the terms, and the faults, which shade the rows below. v is the verdict of Judge about h.
func Draw(w io.Writer, h History, v Verdict) error {
	p := &picture{svg: &svg{}, h: h, t: newTimeline(h), v: v}
	p.collect()
	p.bounds()
	p.header()
	bottom := p.top + len(p.rows)*rowHeight
	p.shade(bottom)
	p.grid(bottom)
	for i, r := range p.rows {
		p.row(r, p.top+i*rowHeight)
	}
	height := p.footer(bottom)
	return p.write(w, pictureWidth, height)
}

// collect sorts the history into rows.
func (p *picture) collect() {
	rows := make(map[string]*row)
	of := func(name string) *row {
		if rows[name] == nil {
			rows[name] = &row{job: name}
		}
		return rows[name]
	}
	for _, j := range p.h.Jobs {
		of(j.Name)
	}
	for _, g := range p.v.Graded {
		r := of(g.Job)
		r.graded = append(r.graded, g)
		if g.Grade.Bad() {
			r.bad++
		} else if g.Grade != OK {
			r.notable++
		}
	}
	for _, e := range p.h.Effects {
		of(e.Job).effects = append(of(e.Job).effects, e)
	}
	for _, v := range p.v.Violations {
		name, _, _ := strings.Cut(strings.TrimPrefix(v.What, "cursor "), "/")
		if r := rows[name]; r != nil && r.bad == 0 {
			r.bad++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		p.rows = append(p.rows, *rows[name])
	}
	slices.SortStableFunc(p.rows, func(a, b row) int { return cmp.Or(b.bad-a.bad, b.notable-a.notable) })
	if len(p.rows) > maxRows {
		for _, r := range p.rows[maxRows:] {
			p.left++
			if r.bad > 0 {
				p.leftBad++
			}
		}
		p.rows = p.rows[:maxRows]
	}
}

// bounds finds the time range of the picture: from the first slot or effect to the end.
func (p *picture) bounds() {
	earlier := func(at time.Time) {
		if !at.IsZero() && (p.from.IsZero() || at.Before(p.from)) {
			p.from = at
		}
		p.to = job.Later(p.to, at)
	}
	for _, g := range p.v.Graded {
		earlier(g.Slot)
	}
	for _, e := range p.h.Effects {
		earlier(e.Arrived)
		p.to = job.Later(p.to, e.Ended)
	}
	for _, f := range p.h.Faults {
		earlier(f.At)
		p.to = job.Later(p.to, f.Until)
	}
	p.to = job.Later(p.to, p.t.over)
	if !p.to.After(p.from) {
		p.to = p.from.Add(time.Second)
	}
	margin := p.to.Sub(p.from) / 60
	p.from, p.to = p.from.Add(-margin), p.to.Add(margin)
}

// x returns the position of an instant.
func (p *picture) x(at time.Time) float64 {
	const width = pictureWidth - nameWidth - rightMargin
	share := at.Sub(p.from).Seconds() / p.to.Sub(p.from).Seconds()
	return nameWidth + width*math.Min(1, math.Max(0, share))
}

// until returns the position of the end of a span, which is the right border if it has no end.
func (p *picture) until(at time.Time) float64 {
	if at.IsZero() {
		at = p.to
	}
	return p.x(at)
}

func (p *picture) header() {
	colour, verdict := green, "every promise was kept"
	if n := len(p.v.Violations); n > 0 {
		colour, verdict = vermillion, plural(n, "violation")
	}
	p.rect(0, 0, 8, 64, colour, "")
	p.text(22, 30, ink, "font-size:20px;font-weight:600", fmt.Sprintf("%s, %s, %s: %s",
		plural(len(p.rows)+p.left, "job"), plural(len(p.h.Effects), "effect"), plural(len(p.h.Faults), "fault"), verdict))
	_, text, _ := strings.Cut(p.v.String(), "; ")
	p.text(22, 54, faint, "", text)
	p.top = 76
	p.terms()
	p.faults()
	p.axis()
}

// term is the time in which one candidate had the oldest key in the election.
type term struct {
	rev      int64
	node     string
	from, to time.Time
}

func (p *picture) terms() {
	p.text(22, p.top+14, faint, "", "who led")
	for i, r := range p.t.reigns() {
		fill := "#E8E8E8"
		if i%2 == 1 {
			fill = "#CFCFCF"
		}
		x1, x2 := p.x(r.from), p.until(r.to)
		name := fmt.Sprintf("term %d %s", r.rev, r.node)
		p.rect(x1, p.top, math.Max(1, x2-x1), 20, fill, fmt.Sprintf("%s, %s to %s", name, stamp(r.from), stamp(r.to)))
		if wide(name) < x2-x1 {
			p.text(x1+5, p.top+14, ink, "", name)
		}
	}
	p.top += 26
}

// faults draws the faults with their nodes, in as many lanes as needed.
func (p *picture) faults() {
	if len(p.h.Faults) > 0 {
		p.text(22, p.top+14, faint, "", "faults")
	}
	var lanes []float64 // the end of the last fault in each lane
	for _, f := range p.sortedFaults() {
		x1, x2 := p.faultSpan(f)
		name := strings.TrimSpace(fmt.Sprintf("%s %s", f.Kind, cmp.Or(f.Node, "of all")))
		end := math.Max(x2, x1+wide(name)) + 6
		lane := slices.IndexFunc(lanes, func(taken float64) bool { return taken < x1 })
		if lane < 0 {
			lane, lanes = len(lanes), append(lanes, 0)
		}
		lanes[lane] = end
		y := p.top + lane*lineHeight
		p.rect(x1, y, x2-x1, lineHeight-3, purple, f.String()+" until "+stamp(f.Until))
		p.text(math.Min(x1+4, pictureWidth-wide(name)), y+12, ink, "font-weight:600", name)
	}
	p.top += len(lanes)*lineHeight + 4
}

func (p *picture) sortedFaults() []Fault {
	return slices.SortedStableFunc(slices.Values(p.h.Faults), func(a, b Fault) int { return a.At.Compare(b.At) })
}

// faultSpan returns the horizontal extent of a fault; an instant is two pixels wide.
func (p *picture) faultSpan(f Fault) (x1, x2 float64) {
	x1, x2 = p.x(f.At), p.x(f.At)
	if f.Kind.Lasts() {
		x2 = p.until(f.Until)
	}
	return x1, math.Max(x1+2, x2)
}

// shade draws the faults behind the rows.
func (p *picture) shade(bottom int) {
	for _, f := range p.sortedFaults() {
		x1, x2 := p.faultSpan(f)
		opacity := 0.22
		if !f.Kind.Lasts() {
			opacity = 0.8
		}
		p.raw(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="%.2f"/>`, x1, p.top, x2-x1, bottom-p.top, purple, opacity)
	}
}
