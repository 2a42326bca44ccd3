package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// page is text for people while it is being written. It knows what they asked for: how much, in color, at what time.
type page struct {
	out   *bytes.Buffer
	now   time.Time
	wide  bool
	color bool
}

// color is the SGR parameter of a foreground color. All have the same length, so that they do not disturb columns.
type color string

const (
	plain  color = "39"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
	cyan   color = "36"
)

// tinted is a cell in a color. All cells of its column must be tinted, the header too.
type tinted struct {
	text  string
	color color
}

// tint returns text in a color, if there are colors.
func (p *page) tint(text string, c color) string {
	if !p.color {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// line writes one line.
func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// table writes rows in columns as wide as their widest cell. The first row is the header.
func (p *page) table(rows [][]any) {
	w := tabwriter.NewWriter(p.out, 0, 8, 3, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			if t, ok := cell.(tinted); ok {
				fmt.Fprint(w, p.tint(orDash(printable(t.text)), t.color))
			} else {
				fmt.Fprint(w, orDash(printable(fmt.Sprint(cell))))
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a buffer takes everything
}

// facts writes names and values, one pair per line. Pairs without a value are left out.
func (p *page) facts(pairs ...string) {
	w := tabwriter.NewWriter(p.out, 0, 8, 3, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s:\t%s\n", pairs[i], printable(pairs[i+1]))
		}
	}
	_ = w.Flush()
}

// when is an instant: relative to now, absolute where it is wide, "" if it is zero.
func (p *page) when(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case p.wide:
		return stamp(t)
	}
	return relative(t, p.now)
}

// moment is an instant in full: absolute, and how far away.
func (p *page) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s)", stamp(t), relative(t, p.now))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printable keeps what others have written from disturbing a table or a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// shortened cuts text for a cell that is last in its row.
func (p *page) shortened(s string) string {
	const most = 60
	if runes := []rune(s); !p.wide && len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// colorOf is the color of a run's state.
func colorOf(s job.State) color {
	switch s {
	case job.Succeeded:
		return green
	case job.Failed, job.TimedOut, job.Lost:
		return red
	case job.Running, job.Armed:
		return cyan
	case job.Canceled, job.Skipped:
		return yellow
	}
	return plain
}
