package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

// TestVariablesOfUnits translates a command with variables. The shell fills in what systemd fills in, and nothing else is special.
func TestVariablesOfUnits(t *testing.T) {
	var res importer.Result
	importer.Systemd(map[string]string{
		"a.timer": "[Timer]\nOnCalendar=daily\n",
		"a.service": "[Service]\nExecStart=/bin/echo $A ${B} x;y *.log \"c d\" $$HOME a$A '${B}\"'\n" +
			"Environment=A=1 \"B=a b\"\n",
	}, "UTC", &res)
	text, err := res.JobFile()
	if err != nil {
		t.Fatal(err)
	}
	want := `/bin/echo $A "${B}" 'x;y' '*.log' 'c d' "\$HOME" "a\$A" "${B}\""`
	if !strings.Contains(string(text), want) || !res.Complete() {
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
		text, err := res.JobFile()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want.line) || res.Complete() != (want.lost == "") ||
			!strings.Contains(fmt.Sprint(res.Problems), want.lost) {
			t.Errorf("ExecStart=%s: got %s\nand %v\nwant %s and %q", command, text, res.Problems, want.line, want.lost)
		}
	}
}
