package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Problem describes a part of the input that has no translation.
type Problem struct {
	File string
	Line int // from 1; 0: the whole file
	Text string
	Note bool // true: the translation is complete, and the text describes a difference in behaviour
}

// String returns the problem on one line, with its place.
func (p Problem) String() string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Note {
		return place + ": note: " + p.Text
	}
	return place + ": " + p.Text
}

// Result is the result of an import. The zero value is ready to use.
type Result struct {
	Jobs     map[string]job.Spec
	Problems []Problem
	// MachineZone reports whether an entry has no time zone of its own, so its job has that of the machine: see Options.
	MachineZone bool

	suffixes map[string]int // the last number behind a name that several jobs have
	stop     func() bool    // see Options; nil: the translation never stops
}

// Complete reports whether everything was translated.
func (r *Result) Complete() bool {
	return !slices.ContainsFunc(r.Problems, func(p Problem) bool { return !p.Note })
}

// outputFile is the name of the job file in problems. The importer does not know where the text goes.
const outputFile = "job file"

// JobFile returns the jobs as the text of a job file; nil if there are none. It adds a Problem for each mistake in the file. So a
// Result that is complete afterwards has a file that rota accepts.
func (r *Result) JobFile() ([]byte, error) {
	if len(r.Jobs) == 0 {
		return nil, nil
	}
	text, err := config.Marshal(r.Jobs)
	if err != nil {
		return nil, fmt.Errorf("write job file: %w", err)
	}
	_, err = config.ParseJobs(outputFile, text)
	mistakes, _ := errors.AsType[config.Errors](err)
	for _, m := range mistakes {
		r.Problems = append(r.Problems, Problem{File: outputFile, Line: m.Line, Text: m.Msg})
	}
	if err != nil && mistakes == nil {
		return nil, fmt.Errorf("read job file: %w", err)
	}
	return text, nil
}

// translation adds the content of one file to a Result.
type translation struct {
	file string
	res  *Result
}

// stopped reports whether the translation must end.
func (t *translation) stopped() bool { return t.res.stop != nil && t.res.stop() }

// lost reports a part of the input that has no translation.
func (t *translation) lost(line int, format string, args ...any) {
	t.res.Problems = append(t.res.Problems, Problem{File: t.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// note reports a difference in behaviour that the user should know.
func (t *translation) note(line int, format string, args ...any) {
	t.res.Problems = append(t.res.Problems, Problem{File: t.file, Line: line, Text: fmt.Sprintf(format, args...), Note: true})
}

// add adds a job under a unique name. If rota does not support its schedule, add reports that instead.
func (t *translation) add(line int, name string, spec job.Spec) {
	name = t.uniqueName(jobName(name))
	if _, err := policy.When(name, &spec); err != nil {
		t.lost(line, "job %s: %s", name, plainReason(err))
		return
	}
	literal(&spec)
	put(&t.res.Jobs, name, spec)
}

// put sets a value in a map, which may be nil.
func put[V any](to *map[string]V, key string, value V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = value
}

// onClockChanges returns a job with dst as another tool treats clock changes, if that makes a difference to its slots.
func onClockChanges(s job.Spec, gap schedule.Gap, fold schedule.Fold) job.Spec {
	as := s
	as.DST = &job.DST{Gap: string(gap), Fold: string(fold)}
	if slices.Equal(notes(&s), notes(&as)) {
		return s
	}
	return as
}

// notes returns the notes about a schedule in 28 years, in which each date has each weekday.
func notes(s *job.Spec) []string {
	when, err := policy.When("", s)
	if err != nil || when == nil {
		return nil // add reports the error
	}
	from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return when.Notes(from, from.AddDate(28, 0, 0), 0)
}

func (t *translation) uniqueName(name string) string {
	unique := name
	for n := max(1, t.res.suffixes[name]); ; {
		if _, taken := t.res.Jobs[unique]; !taken {
			return unique
		}
		n++
		put(&t.res.suffixes, name, n)
		suffix := fmt.Sprintf("-%d", n)
		unique = strings.TrimRight(name[:min(len(name), job.MaxNameLength-len(suffix))], "-") + suffix
	}
}

func plainReason(err error) string {
	if e, ok := errors.AsType[*schedule.Error](err); ok {
		return fmt.Sprintf("schedule %q: %s", e.Expr, e.Msg)
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// jobName makes a name that rota accepts from any text.
func jobName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	name := strings.Join(words, "-")
	name = strings.TrimRight(name[:min(len(name), job.MaxNameLength)], "-")
	if name == "" || name == job.AdHoc {
		return "imported"
	}
	return name
}
