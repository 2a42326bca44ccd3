package importer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestVariablesOfUnits translates a command with variables. The shell fills in what systemd fills in, and nothing else is special.
func TestVariablesOfUnits(t *testing.T) {
	var res importer.Result
	importer.Systemd(map[string]string{
		"a.timer": "[Timer]\nOnCalendar=daily\n",
		"a.service": "[Service]\nExecStart=/bin/echo $A ${B} x;y *.log \"c d\" $$HOME a$A '${B}\"'\n" +
			"Environment=A=1 \"B=a b\"\n",
	}, "UTC", &res)
	text := jobFile(t, &res)
	want := `/bin/echo $A "${B}" 'x;y' '*.log' 'c d' "\$HOME" "a\$A" "${B}\""`
	if !strings.Contains(text, want) || !res.Complete() {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// TestPrefixesOfCommands translates the characters before a command, in any order, and reports a command that is only such
// characters.
func TestPrefixesOfCommands(t *testing.T) {
	for command, want := range map[string]struct {
		line, lost string
	}{
		"-/bin/echo a":     {"shell: /bin/echo a || true", ""},
		":/bin/echo $A $$": {"command: [/bin/echo, $A, $$]", ""},
		":-/bin/echo $A":   {"shell: /bin/echo '$A' || true", ""},
		"/bin/echo $$A":    {"command: [/bin/echo, $A]", ""},
		"+-/bin/echo a":    {"shell: /bin/echo a || true", "its prefix has no translation"},
		"-":                {"command: [\"false\"]", "it names no command"},
		"-:@ ":             {"command: [\"false\"]", "it names no command"},
	} {
		var res importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=" + command + "\n",
		}, "UTC", &res)
		text := jobFile(t, &res)
		if !strings.Contains(text, want.line) || res.Complete() != (want.lost == "") ||
			!strings.Contains(fmt.Sprint(res.Problems), want.lost) {
			t.Errorf("ExecStart=%s: got %s\nand %v\nwant %s and %q", command, text, res.Problems, want.line, want.lost)
		}
	}
}

// TestInstancesOfTemplates translates timers whose services are made from a template.
func TestInstancesOfTemplates(t *testing.T) {
	const timer, service = "[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/bin/dump %i 100%%\nWorkingDirectory=/srv/%p/%i\n"
	var res importer.Result
	importer.Systemd(map[string]string{
		"backup@db.timer": timer, "wants/backup@my-shop.timer": timer, "backup@.service": service,
		"other.timer": timer + "Unit=backup@x.service\n",
	}, "UTC", &res)
	text := jobFile(t, &res)
	for _, want := range []string{
		"command: [/bin/dump, db, 100%]", "dir: /srv/backup/db", "command: [/bin/dump, my-shop, 100%]", "command: [/bin/dump, x, 100%]",
	} {
		if !strings.Contains(text, want) || !res.Complete() {
			t.Errorf("got %s\n%v\nwant %s", text, res.Problems, want)
		}
	}
	for name, reported := range map[string]string{
		"backup@.timer": "it is a template: import it as backup@NAME.timer", "backup@a-b.timer": "rota has no specifiers",
		"report@a.timer": "its service report@a.service is missing",
	} {
		res = importer.Result{}
		importer.Systemd(map[string]string{name: timer, "backup@.service": "[Service]\nExecStart=/bin/dump %I\n"}, "UTC", &res)
		if problems := fmt.Sprint(res.Problems); res.Complete() || !strings.Contains(problems, reported) {
			t.Errorf("%s: got %s", name, problems)
		}
	}
}

// TestWordsOfUnits splits commands into words as systemd does, which differs from a shell.
func TestWordsOfUnits(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/sh -c "find . -exec rm {} \;"`:  `shell: find . -exec rm {} \;`, // an unknown escape sequence stays
		`/usr/bin/find . -exec rm {} \;`:      `command: [/usr/bin/find, ., -exec, rm, "{}", ;]`,
		`/bin/echo a\x20b '\\.log' "\"" \\ x`: `command: [/bin/echo, a b, \.log, "\"", \, x]`,
		`/bin/echo '\t\u00fc\101'`:            `command: [/bin/echo, "\tüA"]`,
		`/bin/echo '\ud800\777\x00'`:          `command: [/bin/echo, \ud800\777\x00]`, // no characters
		`/bin/sh -c "a; exit; "`:              `shell: "a; exit; "`,
		`-/bin/sh -c "a & # b"`:               `shell: "/bin/sh -c 'a & # b' || true"`,
		`/bin/a ; /bin/b`:                     "a semicolon separates commands",
	} {
		var res importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=" + command + "\n",
		}, "UTC", &res)
		text := jobFile(t, &res)
		if got := text + fmt.Sprint(res.Problems); !strings.Contains(strings.ReplaceAll(got, `\`+"\n", ""), want) {
			t.Errorf("ExecStart=%s: got %s\nwant %s", command, got, want)
		}
	}
}

// TestCommandsEndAlone joins the commands of a service. A command that ends its shell does not end the others.
func TestCommandsEndAlone(t *testing.T) {
	var res importer.Result
	importer.Systemd(map[string]string{
		"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/sh -c 'exit 0'\nExecStart=/bin/b\n",
	}, "UTC", &res)
	text := jobFile(t, &res)
	if want := "shell: /bin/sh -c 'exit 0' && /bin/b"; !strings.Contains(text, want) {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

// In systemd, the time to start bounds the run of a oneshot service only. cron starts commands in HOME.
func TestTheTimeAndThePlaceOfARun(t *testing.T) {
	const usual = job.Duration(90 * time.Second) // of systemd, before it kills
	for text, want := range map[string]job.Spec{
		"TimeoutStartSec=30": {KillGrace: usual},
		"RuntimeMaxSec=2h":   {Timeout: job.Duration(2 * time.Hour), KillGrace: usual},
		"Type=exec\nTimeoutStartSec=30\nRuntimeMaxSec=60":       {Timeout: job.Duration(time.Minute), KillGrace: usual},
		"Type=oneshot\nRuntimeMaxSec=60":                        {KillGrace: usual},
		"Type=oneshot\nTimeoutStartSec=1h":                      {Timeout: job.Duration(time.Hour), KillGrace: usual},
		"Type=oneshot\nTimeoutStartSec=1h\nTimeoutSec=20":       {Timeout: job.Duration(20 * time.Second), KillGrace: job.Duration(20 * time.Second)},
		"Type=oneshot\nTimeoutSec=20\nTimeoutStartSec=infinity": {KillGrace: job.Duration(20 * time.Second)},
		"Type=oneshot\nTimeoutStartSec=1h\nTimeoutStartSec=\n":  {KillGrace: usual},
		"TimeoutSec=20\nTimeoutStopSec=40\nTimeoutStartSec=1":   {KillGrace: job.Duration(40 * time.Second)},
		"TimeoutStopSec=infinity":                               {KillGrace: job.KillGraceRange.High},
		"TimeoutStopSec=0":                                      {KillGrace: job.KillGraceRange.High},
		"TimeoutStopSec=1d":                                     {KillGrace: job.KillGraceRange.High},
	} {
		var got importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/true\n" + text + "\n",
		}, "UTC", &got)
		if a := got.Jobs["a"]; a.Timeout != want.Timeout || a.KillGrace != want.KillGrace || !got.Complete() {
			t.Errorf("%q: got timeout %v, kill_grace %v, %v; want %v, %v", text, a.Timeout, a.KillGrace, got.Problems, want.Timeout, want.KillGrace)
		}
	}
	for key, timeout := range map[string]string{"TimeoutStopSec": "abc", "TimeoutSec": "5 parsecs", "RuntimeMaxSec": "soon"} {
		var got importer.Result
		importer.Systemd(map[string]string{
			"a.timer": "[Timer]\nOnCalendar=daily\n", "a.service": "[Service]\nExecStart=/bin/true\n" + key + "=" + timeout + "\n",
		}, "UTC", &got)
		want := fmt.Sprintf("[a.service:3: %s=%s: %q is no span of time]", key, timeout, timeout)
		if a := got.Jobs["a"]; a.KillGrace != usual || a.Timeout != 0 || fmt.Sprint(got.Problems) != want {
			t.Errorf("%s=%s: got timeout %v, kill_grace %v, %v; want %s", key, timeout, a.Timeout, a.KillGrace, got.Problems, want)
		}
	}
	for line, lost := range map[string]bool{
		"bin/report": true, "FOO=1 bin/report": true, "A='b c' B=\"d e\" ./report -x": true, "/bin/report bin/x": false,
		"FOO=a/b report": false, "FOO='a b/c' report": false, "report bin/x": false,
	} {
		var got importer.Result
		importer.Crontab("f", "@daily "+line+"\n", importer.CrontabOptions{}, &got)
		if got.Complete() == lost {
			t.Errorf("%s: got %v, want a problem: %t", line, got.Problems, lost)
		}
	}
	var got importer.Result
	importer.Crontab("f", "HOME=/srv/app\n@daily bin/report\n", importer.CrontabOptions{}, &got)
	if dir := got.Jobs["report"].Dir; dir != "/srv/app" || !got.Complete() {
		t.Errorf("a crontab with HOME: got dir %q, %v", dir, got.Problems)
	}
}
