package importer_test

import (
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
