package history

import (
	"fmt"
	"math"
	"time"
)

// steps are the possible distances between the marks of the axis.
var steps = []time.Duration{
	10 * time.Millisecond, 100 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// step returns the smallest distance between the marks that leaves them room.
func (p *picture) step() time.Duration {
	const most = 16
	for _, s := range steps {
		if p.to.Sub(p.from)/s <= most {
			return s
		}
	}
	return p.to.Sub(p.from) / most
}

// marks calls mark for each mark of the axis.
func (p *picture) marks(mark func(at time.Time)) {
	step := p.step()
	for at := p.from.Truncate(step).Add(step); at.Before(p.to); at = at.Add(step) {
		mark(at)
	}
}

func (p *picture) axis() {
	format := "15:04:05"
	if p.step() < time.Second {
		format = "15:04:05.00"
	}
	p.text(22, p.top+14, faint, "", p.from.UTC().Format(time.DateOnly)+", UTC")
	p.marks(func(at time.Time) {
		p.text(p.x(at), p.top+14, faint, "text-anchor:middle", at.UTC().Format(format))
	})
	p.top += 24
}

func (p *picture) grid(bottom int) {
	p.marks(func(at time.Time) {
		p.raw(`<path d="M%.1f %dV%d" stroke="#DDDDDD"/>`, p.x(at), p.top-4, bottom)
	})
}

// row draws one job: its slots and windows on the line, unless they are too many to be visible, and its effects above it.
func (p *picture) row(r row, y int) {
	line := y + rowHeight - 5
	name, colour := short(r.job, 24), ink
	if r.bad > 0 {
		name, colour = fmt.Sprintf("%s  %d✕", short(r.job, 19), r.bad), vermillion
	}
	p.text(22, y+15, colour, "", name)
	p.raw(`<path d="M%d %dH%d" stroke="#BBBBBB" stroke-width="0.7"/>`, nameWidth, line, pictureWidth-rightMargin)
	grades := make(map[string]Grade)
	dense := len(r.graded) > maxSlots
	for i, g := range r.graded {
		grades[g.Run] = g.Grade
		if g.Slot.IsZero() || dense {
			continue
		}
		var next time.Time
		if i+1 < len(r.graded) {
			next = r.graded[i+1].Slot
		}
		p.window(g, next, line)
	}
	seen := make(map[string]int)
	for _, e := range r.effects {
		seen[e.Run]++
		g, slot := grades[e.Run]
		p.effect(e, g, slot || e.Run == "", e.Run != "" && seen[e.Run] > 1, y)
	}
	for _, g := range r.graded {
		switch at := p.markAt(g, r.effects); {
		case at.IsZero():
		case g.Grade.Bad():
			p.cross(p.x(at), float64(y+9), g)
		case seen[g.Run] == 0 && g.Grade != OK && !dense:
			p.raw(`<circle cx="%.1f" cy="%d" r="3" fill="none" stroke="%s"><title>%s</title></circle>`,
				p.x(at), y+10, colourOf(g.Grade), escape(describeGrade(g)))
		}
	}
}

// window draws the window of a slot, at most up to the next slot, so that each is visible.
func (p *picture) window(g SlotGrade, next time.Time, line int) {
	x1, x2 := p.x(g.Slot), p.x(g.Slot)
	if !g.Due.IsZero() {
		x2 = p.x(g.Due)
	}
	if !next.IsZero() {
		x2 = math.Min(x2, p.x(next)-1.5)
	}
	fill := "#888888"
	if !g.Must {
		fill = "#CCCCCC"
	}
	p.rect(x1, line-1, math.Max(1.2, x2-x1), 4, fill, "")
	p.rect(x1, line-3, 1.2, 6, ink, describeGrade(g))
}

// effect draws one execution in the colour of its slot's grade. A repetition has an edge. An effect without a recorded end is
// open to the right.
func (p *picture) effect(e Effect, g Grade, slot, again bool, y int) {
	fill, edge := colourOf(g), ""
	if !slot {
		fill = "#666666" // a client requested it
	}
	if again {
		edge = fmt.Sprintf(` stroke="%s"`, ink)
	}
	x1, x2 := p.x(e.Arrived), p.x(e.Ended)
	open := e.Ended.IsZero()
	if open {
		x2 = x1 + 14
	}
	title := escape(fmt.Sprintf("%s attempt %d token %d, %s to %s", e.Run, e.Attempt, e.Token, stamp(e.Arrived), stamp(e.Ended)))
	if open {
		p.raw(`<path d="M%.1f %dH%.1fl4 5l-4 5H%.1fz" fill="%s" fill-opacity="0.45" stroke="%s" stroke-dasharray="2 1.5"><title>%s</title></path>`,
			x1, y+4, x2, x1, fill, ink, title)
		return
	}
	p.raw(`<rect x="%.1f" y="%d" width="%.1f" height="10" rx="1" fill="%s"%s><title>%s</title></rect>`, x1, y+4, math.Max(2.5, x2-x1), fill, edge, title)
}

// markAt returns where the mark of a slot's grade is: at the slot, or at its effect if it has no slot; zero if it has no mark.
func (p *picture) markAt(g SlotGrade, effects []Effect) time.Time {
	if !g.Slot.IsZero() || !g.Grade.Bad() {
		return g.Slot
	}
	for _, e := range effects {
		if e.Run == g.Run {
			return e.Arrived
		}
	}
	at, _ := slotOf(Effect{Run: g.Run})
	return at
}

func (p *picture) cross(x, y float64, g SlotGrade) {
	p.raw(`<g><title>%s</title><circle cx="%.1f" cy="%.1f" r="7" fill="white" fill-opacity="0.85" stroke="%s"/>`+
		`<path d="M%.1f %.1fl7 7m0 -7l-7 7" stroke="%s" stroke-width="2.4"/></g>`,
		escape(describeGrade(g)), x, y, vermillion, x-3.5, y-3.5, vermillion)
}
