package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/spf13/cobra"
)

func newCheckCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "check PATH...",
		Short: "Check job files, without a cluster",
		Long: `Read job files, directories of them, or stdin (-), and print every mistake with its place. With -o wide or json, list
the jobs with their next slots. json and yaml contain the mistakes, too.`,
		Example: "  rota check /etc/rota/jobs.d",
		Args:    takes("PATH..."),
		RunE: func(_ *cobra.Command, args []string) error {
			set, err := c.loadJobs(args)
			var mistakes config.Errors
			switch {
			case errors.As(err, &mistakes) && c.wholeDocument():
				return c.printMistakes(mistakes)
			case err != nil:
				return err
			}
			return c.printChecked(set)
		},
	}
}

// checkedSet is the data that check prints. It has either jobs or mistakes.
type checkedSet struct {
	Hash     string       `json:"hash,omitempty"` // hash of the set; empty if there are mistakes
	Jobs     []checkedJob `json:"jobs"`
	Mistakes []mistake    `json:"mistakes"`
}

type mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; 0 if the mistake is in no line
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Excerpt string `json:"excerpt,omitempty"` // the line and, below it, a caret
	Hint    string `json:"hint,omitempty"`
}

// printMistakes prints mistakes as data. The error that it returns has only the number of mistakes.
func (c *cli) printMistakes(found config.Errors) error {
	checked := checkedSet{Jobs: []checkedJob{}}
	for _, e := range found {
		checked.Mistakes = append(checked.Mistakes, mistake{e.File, e.Line, e.Col, e.Msg, e.Excerpt, e.Hint})
	}
	if err := c.print(checked, nil); err != nil {
		return err
	}
	return &codedError{code: exitBadConfig, err: errors.New(counted(len(found), "mistake") + " found")}
}

type checkedJob struct {
	Name     string      `json:"name"`
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Schedule string      `json:"schedule,omitempty"`
	Slots    []time.Time `json:"slots"`
	Notes    []string    `json:"notes"`

	warnings []string // the notes that are printed even without -o wide
}

func (c *cli) printChecked(set *config.Set) error {
	const slots, notes = 3, 5
	now := c.now()
	checked := checkedSet{Hash: set.Hash, Jobs: []checkedJob{}, Mistakes: []mistake{}}
	files := map[string]bool{}
	for _, d := range definitions(set) {
		files[d.File] = true
		j := checkedJob{Name: d.Name, File: d.File, Line: d.Line, Schedule: scheduleOf(&d.Spec), Notes: []string{}}
		j.Slots = upcoming(d.Name, &d.Spec, now, slots)
		if s, err := policy.When(d.Name, &d.Spec); err == nil && s != nil {
			j.Notes = append(j.Notes, s.Notes(now, now, notes)...)
			if len(j.Slots) == 0 && len(j.Notes) > 0 {
				j.warnings = append(j.warnings, j.Notes[0]) // for example, the only time of the job is past
			}
			if note := s.DaysNote(); note != "" {
				j.warnings = append(j.warnings, note)
			}
		}
		suspicious := suspects(&d.Spec)
		j.warnings, j.Notes = append(j.warnings, suspicious...), append(j.Notes, suspicious...)
		checked.Jobs = append(checked.Jobs, j)
	}
	return c.print(checked, func(p *page) {
		p.line("valid: %s in %s", counted(len(set.Jobs), "job"), counted(len(files), "file"))
		if !p.wide {
			for _, j := range checked.Jobs {
				for _, w := range j.warnings {
					p.line("warning: %s:%d: job %s: %s", j.File, j.Line, j.Name, w)
				}
			}
			return
		}
		rows := [][]any{{"NAME", "FILE", "SCHEDULE", "NEXT"}}
		for _, j := range checked.Jobs {
			rows = append(rows, []any{j.Name, j.File, j.Schedule, strings.Join(stamps(j.Slots), " ")})
		}
		p.table(rows)
		for _, j := range checked.Jobs {
			for _, n := range j.Notes {
				p.line("note: %s: %s", j.Name, n)
			}
		}
	})
}

// suspects says what a valid definition hardly means.
func suspects(s *job.Spec) (list []string) {
	given, _ := s.DefaultParams()
	if name := s.MissingParam(given); name != "" && s.Step() {
		list = append(list, "its slots are skipped: parameter "+name+" is required, and only a client can give it")
	}
	for _, hook := range slices.Sorted(maps.Keys(s.Hooks)) {
		all := maps.Clone(given)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, s.Hooks[hook].Param)
		if name := s.MissingParam(all); name != "" {
			list = append(list, "hook "+hook+" is refused: parameter "+name+" is required, and the hook does not give it")
		}
	}
	if slices.ContainsFunc(s.Command, refs.Has) {
		list = append(list, shownSecret)
	}
	return list
}

// shownSecret is a warning about references in the arguments of a command.
const shownSecret = "command has a reference: " +
	"every user of the worker's machine can read its value in the list of processes; use env instead"

func stamps(times []time.Time) []string {
	text := make([]string, len(times))
	for i, t := range times {
		text[i] = stamp(t)
	}
	return text
}
