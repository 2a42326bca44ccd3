package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"github.com/spf13/cobra"
)

// wrongFlags converts the errors of a schedule, which name keys of a job file, into a usage error that names the flags. If the
// expression itself is wrong, it returns err. zone is the value of --timezone.
func wrongFlags(err error, zone string) error {
	reasons := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		reasons = joined.Unwrap()
	}
	var wrong []schedule.Error
	for _, reason := range reasons {
		why, ok := errors.AsType[*schedule.Error](reason)
		if !ok {
			return err
		}
		named := *why
		switch key := why.Field; {
		case why.NeverFires():
			continue
		case key == "timezone":
			named.Field = "--timezone"
			if likely := config.LikelyZone(zone); likely != "" {
				named.Hint = "did you mean " + likely + "?"
			}
		case key == "every":
			named.Field = "--every"
		case key == "dst.gap", key == "dst.fold":
			named.Field = "--" + strings.TrimPrefix(key, "dst.")
		default:
			return err
		}
		wrong = append(wrong, named)
	}
	if len(wrong) == 1 {
		hint := wrong[0].Hint
		wrong[0].Hint = ""
		return usageError{wrong[0].Error(), hint}
	}
	var lines []string
	for _, why := range wrong {
		lines = append(lines, why.Error())
	}
	return usageError{strings.Join(lines, "\n"), ""}
}

// flagRefused names the flag in the text of err if a server refused the field of the request that the flag of cmd sets.
func flagRefused(cmd *cobra.Command, err error) error {
	answer, ok := errors.AsType[*client.Error](err)
	if !ok || len(answer.Fields) != 1 {
		return err
	}
	field := answer.Fields[0]
	_, name, _ := strings.Cut(field.Location, ".")
	if cmd.Flags().Lookup(name) == nil || answer.Detail != field.Location+": "+field.Message {
		return err
	}
	text := field.Message
	if most, ok := strings.CutPrefix(text, "expected length <= "); ok {
		text = "has more than " + most + " characters" // the API gives this rule without words
	}
	return &codedError{code: exitUsage, hint: answerHint(err), err: fmt.Errorf("--%s %s", name, text)}
}
