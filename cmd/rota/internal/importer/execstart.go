package importer

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// execPrefixes are the characters before a command that say how systemd starts it. After a "-", a failure is ignored. After a ":",
// a dollar sign is an ordinary character.
const execPrefixes = "@-:+!|"

// what translates the commands of the service.
func (s *systemd) what(spec *job.Spec) {
	service := &translation{s.service.file, s.res}
	starts := s.service.all("Service", "ExecStart")
	if len(starts) == 0 {
		service.lost(0, "the service has no ExecStart")
		spec.Command = []string{"false"}
		return
	}
	var lines [][]string
	for _, e := range starts {
		line := strings.TrimLeft(e.text, execPrefixes)
		prefixes := strings.TrimSuffix(e.text, line)
		if strings.ContainsAny(prefixes, "@+!|") {
			service.lost(e.line, "ExecStart=%s: its prefix has no translation", e.text)
		}
		words, err := splitUnitWords(line)
		switch {
		case err != nil:
			service.lost(e.line, "ExecStart=%s: its quotes do not end", e.text)
			continue
		case slices.Contains(words, ";") && loneSemicolon.MatchString(line):
			service.lost(e.line, "ExecStart=%s: a semicolon separates commands; write an ExecStart for each", e.text)
			continue
		case len(words) == 0:
			service.lost(e.line, "ExecStart=%s: it names no command", e.text)
			continue
		case hasSpecifier(line):
			service.lost(e.line, "ExecStart=%s: rota has no specifiers such as %%i; write the value", e.text)
		}
		literal := strings.Contains(prefixes, ":")
		variables := !literal && strings.Contains(strings.ReplaceAll(line, "$$", ""), "$")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "%%", "%")
			if !variables && !literal {
				words[i] = strings.ReplaceAll(words[i], "$$", "$")
			}
		}
		if variables {
			service.note(e.line, "ExecStart: a shell fills in the variables")
			words = []string{"/bin/sh", "-c", variableLine(words)}
		}
		if strings.Contains(prefixes, "-") {
			words = []string{"/bin/sh", "-c", shellLine(words) + " || true"}
		}
		lines = append(lines, words)
	}
	s.environment(service, spec)
	s.command(service, spec, lines)
	dir := s.service.last("Service", "WorkingDirectory")
	if strings.HasPrefix(dir.text, "-") && differs(dir) == "" { // rest reports a directory that differs
		service.note(dir.line, "WorkingDirectory: systemd ignores a missing directory, and a run of rota fails without it")
	}
	spec.Dir = strings.ReplaceAll(strings.TrimPrefix(dir.text, "-"), "%%", "%")
}

// command joins the commands of the service into one command that runs as the service's user.
func (s *systemd) command(service *translation, spec *job.Spec, lines [][]string) {
	if len(lines) == 0 {
		spec.Command = []string{"false"}
		return
	}
	command := lines[0]
	if len(lines) > 1 {
		var all []string
		for _, words := range lines {
			all = append(all, shellLine(words))
		}
		command = []string{"/bin/sh", "-c", strings.Join(all, " && ")}
	}
	user, group := s.service.last("Service", "User"), s.service.last("Service", "Group")
	if user.text != "" && user.text != "root" {
		service.note(user.line, "runs as %s by runuser, which needs a worker that runs as root", user.text)
		command = asUser(user.text, group.text, spec.Env["HOME"], command)
	} else if group.text != "" && group.text != "root" {
		service.lost(group.line, "Group=%s: it has no translation without User=", group.text)
	}
	if len(command) == 3 && command[0] == "/bin/sh" && command[1] == "-c" {
		spec.Shell = command[2]
		return
	}
	spec.Command = command
}

// shellLine quotes words for a shell and joins them.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func (s *systemd) environment(service *translation, spec *job.Spec) {
	for _, e := range s.service.all("Service", "Environment") {
		words, err := splitUnitWords(e.text)
		if err != nil {
			service.lost(e.line, "Environment=%s: its quotes do not end", e.text)
		}
		for _, word := range words {
			if name, value, ok := strings.Cut(word, "="); ok {
				put(&spec.Env, name, strings.ReplaceAll(value, "%%", "%"))
				service.variable(e.line, name, spec.Env[name])
			}
		}
	}
}
