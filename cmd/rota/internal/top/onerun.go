package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// runView returns the visible lines of one run: the end of them, unless the person has scrolled back.
func (s State) runView() []string {
	if !s.loaded() || s.snap.Run == nil {
		return []string{"…"}
	}
	r := s.snap.Run
	title := fmt.Sprintf("%s, attempt %d", strings.ReplaceAll(string(r.State), "_", " "), r.Attempt)
	if r.Reason != "" {
		title += ": " + r.Reason
	}
	lines, height := s.runLines(), s.listHeight()
	last := max(len(lines)-s.top().back, min(height, len(lines)))
	return append([]string{styleOf(r.State).paint(title)}, lines[max(last-height, 0):last]...)
}

// runLines returns all lines about one run: its attempts and its output.
func (s State) runLines() []string {
	r := s.snap.Run
	if r == nil {
		return nil
	}
	var lines []string
	for _, a := range r.Attempts {
		lines = append(lines, attemptLine(a.Number, a.State, a.Worker, a.Started, a.Finished, a.Reason))
	}
	if r.State == job.Running || r.State == job.Armed {
		lines = append(lines, attemptLine(r.Attempt, r.State, r.Worker, r.Started, s.snap.At, ""))
	}
	if len(lines) == 0 {
		text := "no attempt yet"
		if due := r.KnownDue(); !due.IsZero() {
			text += "; due " + stamp(due)
		}
		lines = append(lines, text)
	}
	lines = append(lines, strong.paint("Output"))
	text := strings.TrimRight(s.snap.Output, "\n")
	if text == "" {
		return append(lines, faint.paint(emptyOutput(r)))
	}
	for line := range strings.SplitSeq(text, "\n") {
		wrapped := ansi.Hardwrap(clean(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    ")), s.width, true)
		lines = append(lines, strings.Split(wrapped, "\n")...)
	}
	return lines
}

func emptyOutput(r *api.RunView) string {
	if r.State.Terminal() {
		return "none"
	}
	return "none yet"
}

func attemptLine(n int, state job.State, worker string, started, ended time.Time, reason string) string {
	line := fmt.Sprintf("attempt %d  %-9s  on %s", n, state, worker)
	if !started.IsZero() {
		line += "  " + stamp(started)
		if !ended.IsZero() {
			line += "  took " + span(ended.Sub(started))
		}
	}
	if reason != "" {
		line += "  " + reason
	}
	return styleOf(state).paint(line)
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05Z") }
