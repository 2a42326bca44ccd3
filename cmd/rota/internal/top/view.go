package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// style is the SGR parameter of a text.
type style string

const (
	normal  style = "39"
	good    style = "32"
	bad     style = "31"
	warning style = "33"
	active  style = "36"
	strong  style = "1"
	faint   style = "2"
	chosen  style = "7" // the selected row
)

// paint returns a text in the style. The text may be of other people, so it cannot disturb the terminal.
func (c style) paint(text string) string { return "\x1b[" + string(c) + "m" + clean(text) + "\x1b[0m" }

// ColorOf returns the SGR parameter of the color of a run's state.
func ColorOf(s job.State) string { return string(styleOf(s)) }

func styleOf(s job.State) style {
	switch {
	case s == job.Succeeded:
		return good
	case s.IsFailure():
		return bad
	case s == job.Running, s == job.Armed:
		return active
	case s.Terminal():
		return warning
	}
	return normal
}

// The lines around a list: health, the cluster, the tabs and the column titles above it, and at least one below it.
const (
	linesAbove = 4
	linesBelow = 1
)

// listHeight returns how many lines a list or an output has.
func (s State) listHeight() int { return max(s.height-linesAbove-max(len(s.footer()), linesBelow), 1) }

// View returns the lines of the screen. No line is wider than the terminal, and there are not more lines than it has.
func (s State) View() string {
	if s.help {
		return s.fit(help)
	}
	lines := []string{s.health(), s.cluster(), s.tabs()}
	if s.Query().Kind == OneRun {
		lines = append(lines, s.runView()...)
	} else {
		lines = append(lines, s.list()...)
	}
	footer := s.footer()
	for len(lines) < s.height-len(footer) {
		lines = append(lines, "")
	}
	lines = append(lines[:max(s.height-len(footer), 0)], footer...)
	return s.fit(lines)
}

func (s State) fit(lines []string) string {
	lines = slices.Clone(lines[:min(len(lines), s.height)])
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "…")
	}
	return strings.Join(lines, "\n")
}

// health returns one line about what is wrong.
func (s State) health() string {
	c := &s.snap.Cluster
	age := time.Duration(c.AgeSeconds * float64(time.Second))
	switch {
	case s.trouble != "" && s.snap.At.IsZero():
		return bad.paint(s.trouble)
	case s.trouble != "":
		return bad.paint("Old, of " + stamp(s.snap.At) + ": " + s.trouble)
	case s.snap.At.IsZero():
		return "Asking the cluster…"
	case age > api.StaleAfter:
		return bad.paint(fmt.Sprintf("%s has not heard from the store for %s: this may be that old.", address(s.snap.Server), span(age)))
	case c.Leader == nil:
		return bad.paint("No leader: the cluster dispatches no runs. `rota status` says why.")
	case len(c.Attention) > 0:
		n := fmt.Sprintf("%d things need attention: ", len(c.Attention))
		if len(c.Attention) == 1 {
			n = "1 thing needs attention: "
		}
		return warning.paint(n + c.Attention[0].Text)
	}
	return good.paint("All is well.")
}

// cluster returns one line about the leader, the lag and the rates.
func (s State) cluster() string {
	if s.snap.At.IsZero() {
		return ""
	}
	c := &s.snap.Cluster
	leader := "no leader"
	if c.Leader != nil {
		leader = fmt.Sprintf("leader %s · term %d", c.Leader.Node, c.Leader.Term)
	}
	lag := "lag unknown"
	if c.LagSeconds != nil {
		lag = fmt.Sprintf("lag %.0f ms", *c.LagSeconds*1000)
	}
	present := 0
	for _, m := range c.Members {
		if m.State == "present" {
			present++
		}
	}
	ended, failed := 0, 0
	for state, n := range c.Runs.Hour {
		if ended += n; state.IsFailure() {
			failed += n
		}
	}
	return faint.paint(fmt.Sprintf("%s · %s · %d/%d members · %d running, %d waiting · %d runs/h, %d failed · via %s",
		leader, lag, present, len(c.Members), c.Runs.Running, c.Runs.Waiting, ended, failed, address(s.snap.Server)))
}

func address(server string) string {
	_, addr, found := strings.Cut(server, "://")
	if !found {
		return server
	}
	return addr
}

// tabs returns the line with the lists, and where the screen is.
func (s State) tabs() string {
	var parts []string
	for i, name := range []string{"Jobs", "Runs", "Workers", "Limits"} {
		text := fmt.Sprintf("%d %s", i+1, name)
		if s.screens[0].query.Kind == Kind(i) {
			text = strong.paint("[" + text + "]")
		}
		parts = append(parts, text)
	}
	var line strings.Builder
	line.WriteString(strings.Join(parts, "  "))
	for _, v := range s.screens[1:] {
		switch {
		case v.query.Run != "":
			line.WriteString(" › " + clean(v.query.Run))
		case v.worker != "":
			line.WriteString(" › runs on " + clean(v.worker))
		default:
			line.WriteString(" › " + clean(v.query.Job))
		}
	}
	if f := s.top().filter; f != "" && !s.typing {
		line.WriteString("  /" + f)
	}
	return line.String()
}

// list returns the column titles and the visible rows.
func (s State) list() []string {
	columns, rows := s.columns(), s.rows()
	shown, widths := s.layout(columns, rows)
	titles := make([]cell, len(columns))
	for i, c := range columns {
		if titles[i].text = c.title; i == s.top().sort {
			titles[i].text += map[bool]string{false: "▲", true: "▼"}[s.top().desc]
		}
	}
	lines := []string{strong.paint(joinCells(titles, shown, widths))}
	height := s.listHeight()
	selected := s.index(rows)
	first := max(0, min(selected-height/2, len(rows)-height))
	for i := first; i < min(first+height, len(rows)); i++ {
		text := joinCells(rows[i].cells, shown, widths)
		if i == selected {
			text = chosen.paint(ansi.Truncate(text, s.width, "…"))
		} else {
			text = rows[i].style.paint(text)
		}
		lines = append(lines, text)
	}
	switch {
	case !s.loaded():
		lines = append(lines, "…")
	case len(rows) == 0 && s.top().filter != "":
		lines = append(lines, "nothing matches /"+s.top().filter)
	case len(rows) == 0:
		lines = append(lines, "none")
	}
	return lines
}

// layout returns the columns that fit the terminal, and their widths. The last column may be cut.
func (s State) layout(columns []column, rows []row) (shown []int, widths []int) {
	widths = make([]int, len(columns))
	for i, c := range columns {
		widths[i] = ansi.StringWidth(c.title) + 1 // room for the arrow
		for _, r := range rows {
			widths[i] = max(widths[i], ansi.StringWidth(r.cells[i].text))
		}
		shown = append(shown, i)
	}
	for {
		total, worst := 0, -1
		for _, i := range shown {
			total += widths[i] + 2
			if columns[i].drop > 0 && (worst < 0 || columns[i].drop > columns[worst].drop) {
				worst = i
			}
		}
		last := shown[len(shown)-1]
		cut := 0
		if columns[last].drop > 0 {
			cut = max(0, widths[last]-20) // it may be cut to 20 cells
		}
		if total-2-cut <= s.width || worst < 0 {
			if total-2 > s.width && columns[last].drop == 0 && len(shown) > 0 { // the names give way to the states
				widths[shown[0]] = max(10, widths[shown[0]]-(total-2-s.width))
			}
			return shown, widths
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return i == worst })
	}
}

func joinCells(cells []cell, shown, widths []int) string {
	var b strings.Builder
	for n, i := range shown {
		text := ansi.Truncate(clean(cells[i].text), widths[i], "…")
		b.WriteString(text)
		if n < len(shown)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(text)+2))
		}
	}
	return b.String()
}

// footer returns the question, the filter, the notice or the keys.
func (s State) footer() []string {
	switch {
	case s.confirm != nil:
		lines := strings.Split(ansi.Wrap(clean(s.confirm.Ask)+" Press y for yes, any other key for no.", s.width, ""), "\n")
		for i := range lines {
			lines[i] = warning.paint(lines[i])
		}
		return lines
	case s.typing:
		return []string{"/" + s.top().filter + "▏ (Enter: keep, Esc: all)"}
	case s.busy != nil:
		return []string{clean("Working: " + string(s.busy.Verb) + " " + s.busy.Target + "…")}
	case s.notice != "":
		return strings.Split(ansi.Wrap(clean(s.notice), s.width, ""), "\n")
	case s.Query().Kind == OneRun:
		return []string{faint.paint("↑↓ scroll  c cancel  t retry  r run again  Esc back  ? help  q quit")}
	}
	return []string{faint.paint("? help  q quit  Enter open  / filter  s sort  r run  c cancel  p pause  t retry")}
}

var help = []string{
	strong.paint("rota top: keys"),
	"1 2 3 4, Tab   jobs, runs, workers, limits",
	"↑ ↓ PgUp PgDn  move or scroll; also j k g G",
	"Enter          open: job → runs → one run; worker → runs",
	"Esc            back; clears the filter first",
	"/              filter: text in any column",
	"s, S           sort by the next column; turn the order",
	"r              run the job now",
	"p              pause or resume the job",
	"c              cancel the run",
	"t              retry the run",
	"               (each asks first, and says what it touches)",
	"q, Ctrl-C      quit",
	faint.paint("Press any key to go back."),
}
