package web

import (
	"net/http"
	"strings"
	"time"
)

// startField asks when a run starts.
var startField = field{
	Name: "in", Label: "Start", Kind: "text", Example: "now",
	Help: "A span such as 90s, 2h or 7d, or a time such as " + timeExample + ". A time without a zone is in UTC. Empty: now.",
}

// start returns when a run starts: a span from now, or a time. Without both, it starts now.
func (f *form) start() (in string, at *time.Time) {
	text := strings.TrimSpace(f.value(startField.Name))
	if strings.EqualFold(text, startField.Example) {
		return "", nil
	}
	if t, err := readTime(text); err == nil {
		return "", &t
	}
	return text, nil
}

// The choices of what a run by hand starts.
const (
	jobAlone  = "this job alone"
	withSteps = "with these steps"
)

// behind returns the steps behind a job; nil if there are none.
func (s *site) behind(r *http.Request, name string) (steps []string) {
	v, err := s.workflowOf(r, name, "")
	if err != nil {
		return nil
	}
	for i := range v.Steps {
		if v.Steps[i].Behind {
			steps = append(steps, v.Steps[i].Job)
		}
	}
	return steps
}
