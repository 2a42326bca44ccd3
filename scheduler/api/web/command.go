package web

import (
	"net/http"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func prepareCommand(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb = "Run a command", "Run"
	f.Facts = []string{
		"The command runs once, on any worker that accepts it, as the user of that worker. It is no job, and has no schedule.",
	}
	f.Fields = []field{
		{Name: "shell", Label: "Command", Kind: "area", Help: "For /bin/sh -c.", Example: "echo hello"},
		startField,
		{Name: "timeout", Label: "Timeout", Kind: "text", Help: "A span such as 10m. Empty: 24 hours.", Example: "24h"},
		{
			Name: "workers", Label: "Labels of the worker", Kind: "text", Example: "zone=a",
			Help: "With spaces between them. Empty: any worker.",
		},
		keyField(),
	}
	return nil
}

func performCommand(s *site, r *http.Request, f *form) (string, error) {
	if strings.TrimSpace(f.value("shell")) == "" {
		return "", wrong("shell", "Write a command.")
	}
	body := map[string]any{"shell": f.value("shell")}
	if v := strings.TrimSpace(f.value("timeout")); v != "" {
		body["timeout"] = v
	}
	switch in, at := f.start(); {
	case at != nil:
		body["at"] = at
	case in != "":
		body["in"] = in
	}
	if labels := strings.Fields(f.value("workers")); len(labels) > 0 {
		workers := map[string]string{}
		for _, label := range labels {
			key, value, ok := strings.Cut(label, "=")
			if !ok {
				return "", wrong("workers", label+" is no label: write it as zone=a.")
			}
			workers[key] = value
		}
		body["workers"] = workers
	}
	var made api.RunView
	err := s.ops.Do(r, http.MethodPost, "/v1/runs", keyFor(r, f, ""), body, &made)
	return runLink(made.Ref) + "?done=run", err
}
