package notify

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Message is the text of a notification.
type Message struct {
	Title string // one line
	Body  string // the details, in several lines

	Signal *Signal // the message is this ping; nil: it is a text

	Template string // the text that a webhook gets is made of this template and of Fields; "": Text
	Fields   Fields // Title and Body are left out
}

// Text returns title and body.
func (m Message) Text() string { return m.Title + "\n" + m.Body }

// How much of a run's output a message contains: its last lines.
const (
	outputLines = 20
	outputBytes = 1500
)

// Message returns the text of n for occasion o. output is the end of the run's output. api is the address of a replica, such
// as http://q1:8470, for links. Either may be empty.
func (n *Notice) Message(o job.Occasion, output, api string) Message {
	m := Message{Title: "rota: " + n.title(o)}
	url := ""
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if e := n.Event; e != nil {
		if e.Kind == job.EventLate {
			line("run: %s", e.Run)
			line("slot: %s", stamp(e.From))
		} else {
			line("slots: %s, from %s to %s", slots(e), stamp(e.From), stamp(e.To))
		}
		line("reason: %s", e.Reason)
		if api != "" {
			url = fmt.Sprintf("%s/v1/jobs/%s", api, n.Job)
			line("%s", url)
		}
	} else {
		n.describeRun(line)
		if api != "" {
			url = fmt.Sprintf("%s/v1/runs/%s", api, n.Run.Name())
			line("%s", url)
		}
		if output = tail(output); output != "" && o != job.OnRecovery {
			line("output ends with:\n%s", output)
		}
	}
	m.Body = strings.TrimRight(b.String(), "\n")
	m.Fields = n.fields(o, output, url)
	return m
}

// title describes the event in a few words.
func (n *Notice) title(o job.Occasion) string {
	switch {
	case n.Event != nil && n.Event.Kind == job.EventLate:
		return fmt.Sprintf("job %s is late", n.Job)
	case n.Event != nil:
		return fmt.Sprintf("job %s missed %s", n.Job, slots(n.Event))
	case o == job.OnMissed:
		return fmt.Sprintf("job %s missed 1 slot", n.Job)
	case o == job.OnRecovery:
		return fmt.Sprintf("job %s succeeds again", n.Job)
	case o == job.OnLate && n.Run.State == job.Succeeded:
		return fmt.Sprintf("job %s has finished late", n.Job)
	case o == job.OnStuck:
		return fmt.Sprintf("a run of job %s is stuck", n.Job)
	case n.Run.State == job.Lost:
		return fmt.Sprintf("a run of job %s was lost", n.Job)
	case o == job.OnLost:
		return fmt.Sprintf("attempt %d of a run of job %s was given up", n.Attempt, n.Job)
	case n.Run.State == job.TimedOut:
		return fmt.Sprintf("job %s timed out", n.Job)
	}
	return fmt.Sprintf("job %s failed", n.Job)
}

// describeRun writes the details of the notice's run.
func (n *Notice) describeRun(line func(format string, args ...any)) {
	r := n.Run
	line("run: %s", r.Name())
	line("slot: %s", stamp(r.Slot))
	line("state: %s", r.State)
	if n.After != "" {
		line("last failure: %s/%s", n.Job, n.After)
	}
	if n.Failures > 1 && n.Failures < job.AfterRange.High {
		line("failures in a row: %d", n.Failures)
	}
	if r.Reason != "" {
		line("reason: %s", r.Reason)
	}
	if a := n.attempt(); a != nil {
		line("given up: attempt %d on worker %s: %s", a.Number, a.Worker, a.Reason)
	}
	switch {
	case r.Attempt > 0 && r.Worker != "":
		line("attempt: %d, on worker %s", r.Attempt, r.Worker)
	case r.Attempt > 0:
		line("attempts: %d", r.Attempt)
	}
	if !r.Finished.IsZero() {
		line("ended: %s", stamp(r.Finished))
	}
}

func slots(e *job.Event) string {
	switch {
	case e.Partial:
		return fmt.Sprintf("at least %d slots", e.Count)
	case e.Count == 1:
		return "1 slot"
	}
	return fmt.Sprintf("%d slots", e.Count)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tail returns the last lines of an output. It cuts lines that are too long.
func tail(output string) string {
	output = strings.ToValidUTF8(strings.TrimRight(output, "\n\r\t "), "\uFFFD")
	if lines := strings.Split(output, "\n"); len(lines) > outputLines {
		output = strings.Join(lines[len(lines)-outputLines:], "\n")
	}
	if len(output) <= outputBytes {
		return output
	}
	at := len(output) - outputBytes
	for at < len(output) && !utf8.RuneStart(output[at]) {
		at++
	}
	return "…" + output[at:]
}

// lineBytes bounds a line of a summary.
const lineBytes = 200

// Line returns the line of n in a summary.
func (n *Notice) Line(o job.Occasion) string {
	text := n.title(o)
	if n.Run != nil {
		text += " (" + n.Run.Name() + ")"
		if n.Run.Reason != "" {
			text += ": " + n.Run.Reason
		}
	}
	return shorten(text)
}

// shorten cuts a line that is too long.
func shorten(text string) string {
	if len(text) <= lineBytes {
		return text
	}
	at := lineBytes
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}

// summaryLines is how many notices a summary shows.
const summaryLines = 20

// Summary returns the text for many notices at once: how many there are of each occasion, and the first of them.
func Summary(counts map[job.Occasion]int, lines []string) Message {
	total := 0
	var parts []string
	for _, o := range job.Occasions() {
		if counts[o] > 0 {
			total += counts[o]
			parts = append(parts, fmt.Sprintf("%s: %d", o, counts[o]))
		}
	}
	m := Message{Title: fmt.Sprintf("rota: %d more notifications", total), Body: strings.Join(parts, ", ")}
	m.Fields.Count = total
	shown := lines[:min(len(lines), summaryLines)]
	for _, line := range shown {
		m.Body += "\n- " + line
	}
	if rest := total - len(shown); rest > 0 {
		m.Body += fmt.Sprintf("\n- and %d others: see rota runs", rest)
	}
	return m
}
