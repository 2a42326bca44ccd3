package importer

import (
	"strings"
	"testing"
)

// The worker would kill such a command at once, and the run would count as succeeded.
func TestACommandInTheBackgroundIsReported(t *testing.T) {
	for script, want := range map[string]bool{
		"a &": true, "(cd /a; ./b)&": true, "nohup a >/dev/null 2>&1 & ": true, "a & b": false, "a && b": false, "a &&": false, "a": false,
		"a\nb &": true, "a &\nwait": false, "echo \\&": false, "a\n# b &": false, "": false,
	} {
		if got := Background(script); got != want {
			t.Errorf("%q: got %v, want %v", script, got, want)
		}
	}
	var res Result
	err := Translate(Options{Kind: KindCrontab, Timezone: "UTC"}, []string{"c"}, map[string]string{"c": "@daily /bin/a &\n"}, &res)
	if err != nil || len(res.Problems) != 1 || !strings.Contains(res.Problems[0].String(), "ends with &") {
		t.Errorf("got %v (%v), want the report of the &", res.Problems, err)
	}
}
