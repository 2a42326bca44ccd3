package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/rota-scheduler/rota/cmd/rota/internal/top"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// page collects a text for people that a command writes.
type page struct {
	out   *bytes.Buffer
	now   time.Time
	wide  bool // more columns, absolute times, full texts
	color bool
	full  bool // texts are not shortened, because no person reads them on a terminal

	widths []int // of the columns of the last table, without the space between them
}

// color is the SGR parameter of a foreground color.
type color string

const (
	plain  color = "39"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

// tinted is a colored cell.
type tinted struct {
	text  string
	color color
}

// tint returns text in a color, or unchanged on a page without colors.
func (p *page) tint(text string, c color) string {
	if !p.color {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// line writes one line.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// table writes rows in columns. The first row is the header.
func (p *page) table(rows [][]any) {
	p.widths = nil
	for _, row := range rows {
		p.widen(row)
	}
	p.rows(rows)
}

// widen makes the columns wide enough for a row.
func (p *page) widen(row []any) {
	for i, cell := range row {
		p.widths = widened(p.widths, i, cellText(cell))
	}
}

// rows writes rows in the columns of the last table.
func (p *page) rows(rows [][]any) {
	for _, row := range rows {
		for i, cell := range row {
			text := cellText(cell)
			if t, ok := cell.(tinted); ok {
				p.out.WriteString(p.tint(text, t.color))
			} else {
				p.out.WriteString(text)
			}
			if i < len(row)-1 {
				p.widths = widened(p.widths, i, text)
				p.out.WriteString(strings.Repeat(" ", p.widths[i]-displaywidth.String(text)+columnGap))
			}
		}
		p.out.WriteByte('\n')
	}
}

// columnGap is the number of spaces between two columns.
const columnGap = 3

// widened returns the widths of columns such that column i has room for text.
func widened(widths []int, i int, text string) []int {
	for len(widths) <= i {
		widths = append(widths, 0)
	}
	widths[i] = max(widths[i], displaywidth.String(text))
	return widths
}

// cellText returns the text of a cell without its color.
func cellText(cell any) string {
	if t, ok := cell.(tinted); ok {
		return orDash(printable(t.text))
	}
	return orDash(printable(fmt.Sprint(cell)))
}

// facts writes names and values, one pair per line. It skips pairs without a value.
func (p *page) facts(pairs ...string) {
	width := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, displaywidth.String(pairs[i])+1)
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			name := pairs[i] + ":"
			p.line("%s%s%s", name, strings.Repeat(" ", width-displaywidth.String(name)+columnGap), printable(pairs[i+1]))
		}
	}
}

// when formats an instant: relative to now, or absolute on a wide page. It returns "" for the zero time.
func (p *page) when(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case p.wide:
		return stamp(t)
	}
	return relative(t, p.now)
}

// moment formats an instant both as an absolute time and relative to now. It returns "" for the zero time.
func (p *page) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s)", stamp(t), relative(t, p.now))
}

func orDash(s string) string { return cmp.Or(s, "-") }

// printable replaces the characters that would disturb a table or a terminal, except those in keep.
func printable(s string, keep ...rune) string {
	return strings.Map(func(r rune) rune {
		if top.Disturbs(r) && !slices.Contains(keep, r) {
			return ' '
		}
		return r
	}, s)
}

// shortened cuts the text of the last cell in a row. A wide page shows all of it.
func (p *page) shortened(s string) string {
	const most = 60
	if runes := []rune(s); !p.wide && !p.full && len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// colorOf returns the color of a run's state.
func colorOf(s job.State) color { return color(top.ColorOf(s)) }
