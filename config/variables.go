package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, entry := range environ {
		if k, v, ok := strings.Cut(entry, "="); ok {
			env[k] = v
		}
	}
	return env
}

// otherVariables are the ROTA_… variables that are not settings. Some belong to commands. Others belong to jobs: a job may start
// rota, so rota may inherit them.
var otherVariables = append([]string{
	"ROTA_SERVER", "ROTA_TOKEN_FILE", "ROTA_CACERT", "ROTA_CERT", "ROTA_CERT_KEY", "ROTA_CONFIG", "ROTA_PAGER",
	"ROTA_OUTPUT", "ROTA_MARK",
}, ownVariables...)

// otherPrefixes begin the variables of parameters and of outputs of parents, and those that jobs, notifiers and hooks may name by
// default.
var otherPrefixes = []string{job.ParamVariablePrefix, "ROTA_INPUT_", "ROTA_SECRET_"}

// ofKubernetes matches the variables that Kubernetes sets in every container for a Service named rota or rota-….
var ofKubernetes = regexp.MustCompile(`^ROTA_(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP)(_.*)?)?)$`)

// Variables returns the names of the variables in environ that set a setting or give the path of the settings file.
func Variables(environ []string) (names []string) {
	env := environment(environ)
	for _, name := range sortedKeys(env) {
		gives := name == "ROTA_CONFIG" || slices.ContainsFunc(settings, func(s setting) bool { return s.env() == name })
		if gives && env[name] != "" {
			names = append(names, name)
		}
	}
	return names
}

func unknownVariables(env map[string]string) []string {
	known := append([]string(nil), otherVariables...)
	for _, s := range settings {
		known = append(known, s.env())
	}
	var warnings []string
	for _, name := range sortedKeys(env) {
		if !strings.HasPrefix(name, "ROTA_") || slices.Contains(known, name) || ofKubernetes.MatchString(name) ||
			slices.ContainsFunc(otherPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		w := fmt.Sprintf("environment variable %s is not known", abbreviate(name))
		if hint := didYouMean(name, known, ""); hint != "" {
			w += ": " + hint
		}
		warnings = append(warnings, w)
	}
	return warnings
}

func defaultDataDir(env map[string]string) string {
	switch {
	case os.Geteuid() == 0:
		return "/var/lib/rota"
	case env["XDG_STATE_HOME"] != "":
		return env["XDG_STATE_HOME"] + "/rota"
	case env["HOME"] != "":
		return env["HOME"] + "/.local/state/rota"
	}
	return ""
}
