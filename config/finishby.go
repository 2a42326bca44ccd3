package config

import (
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// finishBy is the kind of a time of day, with or without a zone, or of a duration.
var finishBy = kind[string]{
	name: "time of day or duration", schema: object{"type": "string", "minLength": 1, "maxLength": maxFinishBy}, layout: oneQuoted,
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxFinishBy)
		if text == "" {
			return ""
		}
		if _, err := schedule.ParseFinishBy(text, ""); err != nil {
			r.fail(n, `such as "06:00", "06:00 Europe/Berlin" or 3h`, "finish_by %s %v", quote(text), err)
			return ""
		}
		return text
	},
}

const maxFinishBy = 80

// checkFinishBy checks that a step has no time of day without a zone, because a step has no time zone.
func (r *reader) checkFinishBy(n *yaml.Node, what string, s *job.Spec) {
	if s.FinishBy == "" || child(n, "finish_by") == nil {
		return
	}
	if _, err := schedule.ParseFinishBy(s.FinishBy, "right/none"); err != nil { // a zone that is refused
		r.fail(child(n, "finish_by"), "such as \""+s.FinishBy+" Europe/Berlin\", or a duration after the slot, such as 3h",
			"finish_by %s of %s needs a time zone, because a step has none", quote(s.FinishBy), what)
	}
}
