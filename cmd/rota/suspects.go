package main

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// suspects says what is valid in a definition and probably not meant. To add a warning, add a function here.
func suspects(s *job.Spec) (list []string) {
	for _, look := range []func(*job.Spec) string{
		suspectParams, suspectHooks, suspectCommand, suspectShell, suspectSecret, suspectHost, suspectJitter, suspectTimeout,
		suspectHeartbeat, suspectRetry, suspectZone,
	} {
		if warning := look(s); warning != "" {
			list = append(list, warning)
		}
	}
	return list
}

func suspectParams(s *job.Spec) string {
	given, _ := s.DefaultParams()
	if name := s.MissingParam(given); name != "" && s.Step() {
		return "its slots are skipped: parameter " + name + " is required, and only a client can give it"
	}
	return ""
}

func suspectHooks(s *job.Spec) string {
	for _, hook := range slices.Sorted(maps.Keys(s.Hooks)) {
		all, _ := s.DefaultParams()
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, s.Hooks[hook].Param)
		if name := s.MissingParam(all); name != "" {
			return "hook " + hook + " is refused: parameter " + name + " is required, and the hook does not give it"
		}
	}
	return ""
}

func suspectCommand(s *job.Spec) string {
	switch {
	case slices.ContainsFunc(s.Command, refs.Has):
		return "command has a reference: every user of the worker's machine can read its value in the list of processes; use env instead"
	case len(s.Command) == 1 && strings.ContainsAny(s.Command[0], "|&;<>"):
		return "command has one argument, which names a program: no shell reads its " +
			string(s.Command[0][strings.IndexAny(s.Command[0], "|&;<>")]) + "; use shell instead"
	case len(s.Command) == 1 && strings.Contains(s.Command[0], " "):
		return "command has one argument, which names a program with a space; write a list such as [backup, --all], or use shell"
	}
	return ""
}

// meantReference finds the references that a worker would replace elsewhere. ${env:-prod} and ${env:0:3} belong to the shell.
var meantReference = regexp.MustCompile(`\$\{(env:[A-Za-z_]\w*|file:/[^}]*)\}`)

func suspectShell(s *job.Spec) string {
	if meantReference.MatchString(s.Shell) {
		return "shell has a reference, which no worker replaces: put it into env, and use the variable"
	}
	if importer.Background(s.Shell) {
		return "shell ends with &: the worker kills what still runs when the shell has ended, so leave the & out"
	}
	return ""
}

// secretName matches the names of variables that hold secrets.
var secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|api_?key)$`)

// suspectSecret looks for a secret that the store and everybody who may read jobs would have.
func suspectSecret(s *job.Spec) string {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if value := s.Env[name]; value != "" && secretName.MatchString(name) && !refs.Has(value) {
			return "env " + name + " is stored as it stands: use a reference such as ${env:" + secretVariable(name) +
				"} or ${file:/run/secrets/name}"
		}
	}
	if s.HTTP == nil {
		return ""
	}
	if u, err := url.Parse(s.HTTP.URL); err == nil && u.User != nil && !refs.Has(s.HTTP.URL) {
		if _, given := u.User.Password(); given {
			return "url has a password, which is stored as it stands: use a reference such as ${env:ROTA_SECRET_PASSWORD}"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.HTTP.Headers)) {
		value := s.HTTP.Headers[name]
		if (strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "X-Api-Key")) && !refs.Has(value) {
			return "header " + name + " is stored as it stands: use a reference such as ${env:ROTA_SECRET_TOKEN} or " +
				"${file:/run/secrets/token}"
		}
	}
	return ""
}

// secretVariable returns the name of a variable that references may name by default.
func secretVariable(name string) string {
	const prefix = "ROTA_SECRET_"
	return prefix + strings.TrimPrefix(name, prefix)
}

// suspectHost looks for a parameter that may send the request, with its headers, to any host.
func suspectHost(s *job.Spec) string {
	if s.HTTP == nil {
		return ""
	}
	_, rest, _ := strings.Cut(s.HTTP.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	for _, name := range fill.Params(host) {
		if p := s.Params[name]; len(p.Enum) == 0 && p.Pattern == "" {
			return "url has the parameter " + name + " in its host: who may run the job may send its headers to any host; " +
				"give the parameter an enum or a pattern"
		}
	}
	return ""
}

func suspectJitter(s *job.Spec) string {
	if s.Every > 0 && s.Jitter > s.Every {
		return fmt.Sprintf("jitter %v is longer than every %v: a run may start after the next slot", s.Jitter, s.Every)
	}
	return ""
}

func suspectTimeout(s *job.Spec) string {
	if s.Every > 0 && s.Overlap == job.OverlapSkip && s.Timeout > s.Every && s.Timeout != job.DefaultTimeout {
		return fmt.Sprintf("timeout %v is longer than every %v: a slow run makes later slots skip, because overlap is skip",
			s.Timeout, s.Every)
	}
	return ""
}

func suspectHeartbeat(s *job.Spec) string {
	if s.Heartbeat > 0 && s.Heartbeat >= s.Timeout {
		return fmt.Sprintf("heartbeat %v has no effect, because timeout %v ends the attempt first", s.Heartbeat, s.Timeout)
	}
	return ""
}

// suspectRetry looks for exit codes of a request, and for statuses of a program.
func suspectRetry(s *job.Spec) string {
	if s.Retry == nil {
		return ""
	}
	for _, on := range s.Retry.On {
		switch code, err := strconv.Atoi(string(on)); {
		case on == job.RetryOnTimeout:
		case s.HTTP != nil && err == nil && code < 100:
			return fmt.Sprintf("retry.on: no request ends with %s: write a status such as 429 or 5xx", on)
		case s.HTTP == nil && (err != nil || code > 255):
			return fmt.Sprintf("retry.on: no program ends with %s: write an exit code such as 75", on)
		}
	}
	return ""
}

// suspectZone knows the zones that sound like those of places, and have no summer time.
func suspectZone(s *job.Spec) string {
	place, known := map[string]string{"EST": "America/New_York", "MST": "America/Denver", "HST": "Pacific/Honolulu"}[s.Timezone]
	if known && len(s.Schedule) > 0 {
		return "timezone " + s.Timezone + " has no summer time: write " + place + " for the time of the place"
	}
	return ""
}
