package main

import (
	"errors"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/spf13/cobra"
)

func newCheckCommand(c *cli) *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check job files, without a cluster",
		Long: `Read job files, directories of them, or stdin (-), and print every mistake with its place. With -o wide or json, list
the jobs with their next slots. json and yaml contain the mistakes, too.

A warning is about something that is valid and probably not meant. With --strict, warnings are mistakes.`,
		Example: "  rota check /etc/rota/jobs.d\n  rota check --strict jobs.yaml",
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
			warned, err := c.printChecked(set)
			if err == nil && strict && warned > 0 {
				err = &codedError{code: exitBadConfig, err: errors.New(counted(warned, "warning") + ", which --strict makes mistakes")}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "make warnings mistakes")
	return cmd
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

// printChecked prints the jobs of a set, and returns the number of warnings.
func (c *cli) printChecked(set *config.Set) (warned int, err error) {
	const slots, notes = 3, 5
	now := c.now()
	checked := checkedSet{Hash: set.Hash, Jobs: []checkedJob{}, Mistakes: []mistake{}}
	for _, d := range definitions(set) {
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
		warned += len(j.warnings)
		checked.Jobs = append(checked.Jobs, j)
	}
	return warned, c.print(checked, func(p *page) {
		p.line("valid: %s in %s", counted(len(set.Jobs), "job"), counted(set.Files, "file"))
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

func stamps(times []time.Time) []string {
	text := make([]string, len(times))
	for i, t := range times {
		text[i] = stamp(t)
	}
	return text
}
