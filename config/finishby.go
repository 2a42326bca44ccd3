package config

import (
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
