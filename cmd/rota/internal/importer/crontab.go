package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// CrontabOptions say how to read a crontab.
type CrontabOptions struct {
	System   bool   // the sixth field of each line is a user, as in /etc/crontab and /etc/cron.d
	Timezone string // time zone of the machine that the crontab comes from; empty means UTC
}

// Crontab translates a crontab of Vixie cron or cronie.
func Crontab(file, text string, opts CrontabOptions, into *Result) {
	c := crontab{translation: translation{file, into}, opts: opts, env: map[string]string{}, shell: "/bin/sh"}
	for _, line := range linesOf(text) {
		if c.stopped() {
			return
		}
		c.line(line.n, strings.TrimSpace(line.text))
	}
}

// crontab is the state of the reader between two lines. An assignment is valid for all lines after it.
type crontab struct {
	translation
	opts     CrontabOptions
	env      map[string]string
	shell    string
	timezone string // CRON_TZ; empty: the time zone of the machine
	comment  string // the comment directly above the line
	ofRoot   bool   // the note about jobs of root was given
}

var (
	assignment = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*')\s*=\s*(.*)$`)
	// disabled matches a comment that is an entry which somebody has switched off.
	disabled  = regexp.MustCompile(`^(?:@[a-z]+|(?:[\d*/,~-]+\s+){3}[\w*/,~-]+\s+[\w*/,~-]+)\s+\S`)
	nicknames = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)

func (c *crontab) line(n int, line string) {
	switch {
	case line == "":
		c.comment = ""
		return
	case strings.HasPrefix(line, "#"):
		c.comment = strings.TrimSpace(strings.TrimLeft(line, "#"))
		if strings.Contains(c.comment, "dow") || disabled.MatchString(c.comment) { // dow: a header with the names of the columns
			c.comment = ""
		}
		return
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		c.assign(n, unquote(m[1]), unquote(strings.TrimSpace(m[2])))
		return
	}
	c.entry(n, line)
	c.comment = ""
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func (c *crontab) assign(n int, name, value string) {
	switch name {
	case "MAILTO", "MAILFROM":
		if value != "" && name == "MAILTO" {
			c.lost(n, "MAILTO=%s: rota does not mail output; define a notifier such as smtp://…, and name it in notify of the jobs below",
				value)
		}
	case "SHELL":
		c.shell, c.env["SHELL"] = value, value // cron also puts it into the environment
		if value == "/bin/sh" {
			delete(c.env, "SHELL")
		}
	case "CRON_TZ":
		c.timezone = value
	case "RANDOM_DELAY":
		if value != "0" {
			c.lost(n, "RANDOM_DELAY=%s: set jitter of the jobs below; rota's is fixed for each job", value)
		}
	case "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING":
		// These variables describe how cron mails the output.
	default:
		c.variable(n, name, value)
		c.env[name] = value
	}
}

// anacron matches an entry of anacron: a number of days, a delay in minutes, the name of a job, and a command.
var anacron = regexp.MustCompile(`^(?:@[a-z]+|\d+)\s+\d+\s+[A-Za-z][\w.-]{2,}\s`)

// flags matches flags that BSD's cron reads before a command: -n mails only after a failure, -q does not log, and -s runs once at a
// time.
var flags = regexp.MustCompile(`^-[nqs]+(?:[ \t]+|$)`)

// entry translates a line that has a schedule.
func (c *crontab) entry(n int, line string) {
	line = strings.TrimPrefix(line, "-") // in cronie, a leading - means: do not log
	if anacron.MatchString(line) {
		c.lost(n, "it is an entry of anacron, which counts days from the last run; write a job with a schedule and missed: latest")
		return
	}
	expression, rest, ok := c.expression(n, line)
	if !ok {
		return
	}
	user := ""
	if c.opts.System {
		if user, rest, ok = cutField(rest); !ok {
			c.lost(n, "the line has no command behind its user: is it a user's crontab (--system=false)?")
			return
		}
	}
	switch word, _, _ := cutField(rest); {
	case strings.Contains(user, "/"), strings.HasPrefix(user, "-"): // no name, but a program or an option
		c.lost(n, "the user is %s: is it a user's crontab (--system=false)?", user)
		return
	case !c.opts.System && word == "root":
		c.lost(n, "the command begins with root: is it a crontab of a system (--system)?")
		return
	}
	overlap := job.OverlapAllow
	for m := flags.FindString(rest); m != ""; m = flags.FindString(rest) {
		rest = rest[len(m):]
		if strings.Contains(m, "s") {
			overlap = job.OverlapSkip
		}
	}
	switch {
	case rest == "":
		c.lost(n, "the line has no command")
		return
	case rest[0] == '*': // probably a sixth field of time
		c.lost(n, "the command begins with *: cron refuses the whole file")
		return
	}
	if Background(rest) {
		c.lost(n, "the command ends with &: rota kills what still runs when the shell has ended; leave the & out")
	}
	c.res.MachineZone = c.res.MachineZone || c.timezone == ""
	script := input(rest)
	spec := job.Spec{
		Description: c.comment,
		Schedule:    []string{expression},
		Timezone:    cmp.Or(c.timezone, c.opts.Timezone),
		Missed:      job.MissedNone, // cron skips the slots that pass while it is down
		Overlap:     overlap,
		Env:         maps.Clone(c.env),
	}
	if home := c.env["HOME"]; path.IsAbs(home) {
		spec.Dir = home
	} else if file := relativePath(rest); file != "" {
		c.lost(n, "%s: cron starts in the home of its user, rota in the directory of the worker; write the whole path, or dir", file)
	}
	switch {
	case user != "" && user != "root":
		c.note(n, "runs as %s by runuser, which needs a worker that runs as root", user)
		name, group, _ := strings.Cut(user, ":") // FreeBSD's cron takes both
		spec.Command = asUser(name, group, c.env["HOME"], []string{c.shell, "-c", script})
	case c.shell != "/bin/sh":
		spec.Command = []string{c.shell, "-c", script}
	default:
		spec.Shell = script
	}
	if user == "root" && !c.ofRoot {
		c.ofRoot = true
		c.note(n, "jobs of root, such as this one, run as the user of the worker; under the units of rota, that is rota")
	}
	c.add(n, commandName(rest), spec)
}

// expression splits a line into its schedule and the rest.
func (c *crontab) expression(n int, line string) (expression, rest string, ok bool) {
	if strings.HasPrefix(line, "@") {
		word, rest, _ := cutField(line)
		switch {
		case slices.Contains(nicknames, word):
			return word, rest, true
		case word == "@reboot":
			c.lost(n, "@reboot: rota does not start jobs when a machine boots; use a systemd service")
		default:
			c.lost(n, "%s: is no schedule of cron", word)
		}
		return "", "", false
	}
	var fields []string
	rest = line
	for range 5 {
		var field string
		if field, rest, ok = cutField(rest); !ok && len(fields) < 4 {
			c.lost(n, "the line has fewer than five fields of time")
			return "", "", false
		}
		fields = append(fields, field)
	}
	for i, field := range fields {
		if !cronReads(field, fieldNames[i]) {
			c.lost(n, "%s: cron ignores the line or the end of this field, and rota reads all of it; compare the slots", field)
		}
		if fields[i] = randomRange.ReplaceAllString(field, "H($1-$2)"); fields[i] != field {
			c.note(n, "%s: cron draws a value at each start, the job here always uses the same one", field)
		}
	}
	return strings.Join(fields, " "), rest, true
}

// randomRange matches a range of cronie such as 1~9. cronie draws one value from it when it reads the crontab.
var randomRange = regexp.MustCompile(`\b(\d+)~(\d+)\b`)

// input translates the percent signs of a command. The first one ends the command; the text after it is the standard input. Each
// further one is a new line in the input. A percent sign after a backslash stays a percent sign, unless that backslash is escaped
// itself in the command. cronie does the same.
func input(command string) string {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command) && command[i+1] == '%':
			part.WriteByte('%')
			i++
		case command[i] == '\\' && i+1 < len(command) && len(parts) == 0: // in the command, a backslash escapes the next one
			part.WriteString(command[i : i+2])
			i++
		case command[i] == '%':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(command[i])
		}
	}
	parts = append(parts, part.String())
	if len(parts) == 1 {
		return parts[0]
	}
	text := strings.Join(parts[1:], "\n")
	end := "ROTA_INPUT"
	for strings.Contains(text, end) {
		end += "_"
	}
	if text != "" && !strings.HasSuffix(text, "\n") { // cron ends the last line too
		text += "\n"
	}
	return fmt.Sprintf("{ %s\n} <<'%s'\n%s%s", parts[0], end, text, end)
}

// commandName makes a name for a job from its command. It uses the first word that is a program, without directories and suffix.
func commandName(command string) string {
	words := strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t'\"();{}&|<>`", c) })
	for i, word := range words {
		option := strings.ContainsAny(word[:1], "-+0123456789") || strings.ContainsAny(word, "=%")
		variable := word[0] == '$' && !strings.Contains(word, "/")
		if option || variable || slices.Contains(notPrograms, word) || i > 0 && words[i-1] == "cd" {
			continue
		}
		base := word[strings.LastIndexByte(word, '/')+1:]
		base, _, _ = strings.Cut(base, ".")
		if name := jobName(base); name != "imported" {
			return name
		}
	}
	return "imported"
}

// notPrograms are words that stand before the main program of a command.
var notPrograms = []string{
	"cd", "test", "[", "]", "if", "then", "else", "fi", "command", "exec", "nice", "ionice", "env", "sudo", "time", "timeout", "root",
	"flock", "chronic", "bash", "sh", "/bin/sh", "/bin/bash", "python", "python3", "php", "perl", "ruby", "node", "!", ":",
}

// Background reports whether a shell does not wait for the last command of a script. When the shell has ended, a worker kills such
// a command, and cron does not.
func Background(script string) bool {
	script = strings.TrimSpace(script)
	last := strings.TrimSpace(script[strings.LastIndex(script, "\n")+1:])
	before, ok := strings.CutSuffix(last, "&")
	return ok && !strings.HasPrefix(last, "#") && !strings.HasSuffix(before, "&") && !strings.HasSuffix(before, "\\")
}
