package holes

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// argumentsShowSecrets: `"command":["sh","-c","sleep 2","${env:DB_PASSWORD}"]`, while another user looks at all processes.
func argumentsShowSecrets(v *server) (success bool, got string) {
	seen := make(chan bool, 1)
	stop := make(chan struct{})
	go func() { // the receive below waits for it
		found := false
		for !found {
			select {
			case <-stop:
				seen <- false
				return
			default:
			}
			out, _ := as(v.t, neighbourUser, "sh", "-c", "cat /proc/[0-9]*/cmdline")
			found = strings.Contains(out, secretVariable)
		}
		seen <- true
	}()
	r, _, _ := v.submit("/v1/runs", `{"command":["sh","-c","sleep 2","${env:DB_PASSWORD}"]}`)
	close(stop)
	return <-seen, r.State + " " + r.Reason
}

// shell runs a shell text and returns its output.
func (v *server) shell(text string) string {
	v.t.Helper()
	r, output, ok := v.submit("/v1/runs", fmt.Sprintf(`{"shell":%q}`, text))
	if !ok || r.State != "succeeded" {
		v.t.Fatalf("%s did not run %q: %s %s", v.version, text, r.State, r.Reason)
	}
	return output
}

// jobReadsWorker: `tr '\0' '\n' </proc/$PPID/environ`.
func jobReadsWorker(v *server) (success bool, got string) {
	output := v.shell(fmt.Sprintf("{ cat /proc/%d/environ || cat /proc/$PPID/environ; } 2>&1; true", v.pid()))
	return strings.Contains(output, secretVariable), output
}

// jobInheritsDescriptors reads a file that the shell which started the service had open.
func jobInheritsDescriptors(v *server) (success bool, got string) {
	output := v.shell("cat <&3 2>&1; true")
	return strings.Contains(output, secretOpenFile), output
}

// jobRulesWorker: `kill -9 $PPID`, here without ending it, and a key of the service.
func jobRulesWorker(v *server) (success bool, got string) {
	output := v.shell(fmt.Sprintf("kill -0 %d 2>&1 && echo can be killed; cat %s 2>&1; true", v.pid(), v.key))
	return strings.Contains(output, "can be killed") || strings.Contains(output, secretKey), output
}

// outputControlsTerminal: the output of a job writes to the clipboard (OSC 52), and `rota logs` shows it on a terminal.
func outputControlsTerminal(v *server) (success bool, got string) {
	r, _, _ := v.submit("/v1/runs", `{"command":["printf","shown \\033]52;c;aGFja2Vk\\007\\033]0;hacked\\007"]}`)
	command := fmt.Sprintf("%s logs --server %s %s", v.rota, v.url, r.Ref)
	if v.token != "" {
		file := v.dir + "/token"
		v.must(writePrivate(file, v.token))
		command += " --token-file " + file
	}
	var out string
	cluster.Await(v.t, 10*time.Second, "rota logs shows the output", func() bool {
		out, _ = as(v.t, 0, "script", "-qec", command, "/dev/null")
		return strings.Contains(out, "shown")
	})
	return strings.Contains(out, "\x1b]52;") || strings.Contains(out, "\x1b]0;"), fmt.Sprintf("%q", out)
}
