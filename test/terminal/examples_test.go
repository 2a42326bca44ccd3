package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
	"github.com/rota-scheduler/rota/test/ports"
)

// example is one line of an example in a help text.
type example struct{ command, line string }

var (
	helpHeading = regexp.MustCompile("^###+ `(rota[^`]*)`$")
	endless     = regexp.MustCompile(`^rota (dev|serve|worker|top)\b|watch|(logs|events) -f`)
)

// otherCodes are the exit codes that an example may have besides 0, because they depend on what it finds.
var otherCodes = map[string][]int{
	"rota status": {7}, "rota doctor": {1}, "rota health": {1},
	"rota accept-restored-store": {4}, // the store was not restored
	"rota cancel":                {4}, // the run has ended
	"rota approve":               {4},
	"rota reject":                {4},
	"rota incident":              {3}, // there was none
	"rota import":                {1}, // not everything can be translated
	"rota import cronjob":        {1},
	"rota import dkron":          {1},
}

// elsewhere are commands whose examples other tests execute, because they need more than a shell.
var elsewhere = map[string]string{
	"rota top":            "TestTop has a terminal",
	"rota login":          "TestOpenID has a provider",
	"rota pki kubernetes": "test/kubernetes has an API server",
}

// examples returns the examples of the reference, which has them from the help texts. Each command has one, or its own commands do.
func examples(t *testing.T) (list []example) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	command, inside := "", false
	bare := map[string]bool{} // commands without an example
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		switch m := helpHeading.FindStringSubmatch(line); {
		case m != nil:
			command, bare[m[1]] = m[1], true
		case line == "```sh":
			inside = true
		case line == "```":
			inside = false
		case inside && command != "":
			list = append(list, example{command, line})
			delete(bare, command)
		}
	}
	for command := range bare {
		if !strings.Contains(string(page), "### `"+command+" ") {
			t.Errorf("%s has no example", command)
		}
	}
	if len(list) < 50 {
		t.Fatalf("found only %d examples", len(list))
	}
	return list
}

// TestExamplesOfHelp executes the example of every help text as it stands, against `rota dev`. Names of machines and files that
// only the example's reader has are replaced by those of this test, and so are other programs.
func TestExamplesOfHelp(t *testing.T) {
	lacking.Program(t, "bash", "bash")
	list := examples(t)
	home := t.TempDir()
	shell := newExampleShell(t, home)
	for _, e := range list {
		if e.command == "rota dev" {
			shell.run(t, e)
		}
	}
	c := cluster.StartDev(t, cluster.Config{Binary: binary, Jobs: map[string]job.Spec{
		"nightly-backup": {Schedule: []string{"30 2 * * *"}, Shell: "echo dumped", Labels: map[string]string{"team": "ops"}},
		"charge":         {Every: job.Duration(10 * time.Second), Shell: "echo charged"},
		"report":         {Schedule: []string{"@daily"}, Shell: "echo reported"},
	}})
	shell.join(t, c)
	if _, _, err := c.Client.PutJob(t.Context(), "old-report", job.Spec{Shell: "true"}, api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	shell.output(t, "rota backfill nightly-backup --from 2026-01-31T00:00:00Z --to 2026-02-01T00:00:00Z")
	for _, e := range list {
		if _, not := elsewhere[e.command]; e.command != "rota dev" && !not {
			t.Run(e.line, func(t *testing.T) { shell.run(t, e) })
		}
	}
}

// exampleShell executes examples in a folder that has what they name.
type exampleShell struct {
	dir, home    string
	env          []string
	certificates string   // for etcd of the cluster
	plain        []string // URLs of a replica without TLS: of its API, and of its etcd
}

func newExampleShell(t *testing.T, home string) *exampleShell {
	t.Helper()
	s := &exampleShell{dir: filepath.Join(home, "work"), home: home}
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("jobs.yaml", "jobs:\n  sums: {every: 1h, command: [date], labels: {team: billing}}\n", 0o644)
	write("jobs.d/sums.yaml", "jobs:\n  sums: {every: 1h, command: [date]}\n", 0o644)
	write("etc/jobs.d/sums.yaml", "jobs:\n  sums: {every: 1h, command: [date]}\n", 0o644)
	write("crontab", "# m h dom mon dow user command\n17 * * * * root run-parts /etc/cron.hourly\n", 0o644)
	write("systemd/backup.timer", "[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n", 0o644)
	write("systemd/backup.service", "[Service]\nType=oneshot\nExecStart=/usr/local/bin/backup\n", 0o644)
	const cronJob = `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"sums"},"spec":{"schedule":"@hourly","concurrencyPolicy":"Forbid",` +
		`"jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i","command":["date"]}]}}}}}}`
	write("bin/kubectl", "#!/bin/sh\necho '"+cronJob+"'\n", 0o755)
	write("bin/crontab", "#!/bin/sh\necho '5 4 * * * date'\n", 0o755)
	write("bin/systemctl", "#!/bin/sh\nshift\nfor unit; do echo \"# /etc/systemd/system/$unit\"; cat systemd/$unit; done\n", 0o755)
	write("bin/curl", `#!/bin/sh
echo '[{"name":"sums","schedule":"@every 1h","executor":"shell","executor_config":{"command":"date"}}]'
`, 0o755)
	s.env = []string{"HOME=" + home, "PATH=" + filepath.Join(s.dir, "bin") + ":" + filepath.Dir(binary) + ":" + os.Getenv("PATH")}
	return s
}

// join gives the shell access to a cluster, and starts a second cluster without TLS.
func (s *exampleShell) join(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	s.env = append(s.env, "XDG_STATE_HOME="+c.Dir)
	s.certificates = filepath.Join(c.Dir, "data", "tls")
	token, err := os.ReadFile(filepath.Join(c.Dir, "data", "token"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(s.home, ".config", "rota"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.home, ".config", "rota", "token"), token, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := cluster.Start(t, cluster.Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{}})
	s.plain = []string{other.Replicas()[0].URL, other.Endpoints()[0]}
}

// run executes an example, and stops it if it does not end by itself.
func (s *exampleShell) run(t *testing.T, e example) {
	t.Helper()
	line := e.line
	if s.plain != nil {
		line = strings.NewReplacer("http://q1:8470", s.plain[0], "http://127.0.0.1:2379", s.plain[1]).Replace(line)
	}
	line = strings.NewReplacer(
		"/etc/rota/jobs.d", "etc/jobs.d", "/etc/crontab", "crontab", "/etc/systemd/system/", "systemd/",
		"/etc/rota/q1.yaml", s.settings(t, "q1"), "/etc/rota/worker.yaml", s.settings(t, "w1"), "/etc/rota/rota.yaml", s.settings(t, "w1"),
		"/var/lib/rota/etcd", "restored",
	).Replace(line)
	if strings.Contains(line, "etcdutl") {
		line = "rota etcdctl --endpoints " + s.plain[1] + " snapshot save backup.db && " + line
	}
	if strings.Contains(line, "pki init") {
		line = "rm -rf pki; " + line
	}
	if id := "k3j2h8w4q9xz"; strings.Contains(line, id) {
		line = strings.Replace(line, id, "$(rota token create ci --role viewer --expires 1d -o jsonpath={.id})", 1)
	}
	want := append([]int{0}, otherCodes[e.command]...)
	if endless.MatchString(e.line) {
		line = "timeout -s INT 4 " + line
		want = append(want, 124, 130)
	}
	if out, code := s.execute(t, line); !slices.Contains(want, code) {
		t.Errorf("%s: exit code %d:\n%s", line, code, out)
	}
}

// output returns what a command prints. It must succeed.
func (s *exampleShell) output(t *testing.T, line string) string {
	t.Helper()
	out, code := s.execute(t, line)
	if code != 0 {
		t.Fatalf("%s: exit code %d:\n%s", line, code, out)
	}
	return out
}

func (s *exampleShell) execute(t *testing.T, line string) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, time.Second
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return string(out), 0
}

// settings writes the settings of a process, and returns the name of the file.
func (s *exampleShell) settings(t *testing.T, name string) string {
	t.Helper()
	free := ports.Free(t, 3)
	text := fmt.Sprintf("node: {name: %s, data_dir: data-%s}\nhttp: {listen: \"127.0.0.1:%d\"}\n", name, name, free[0])
	if name == "w1" {
		text += fmt.Sprintf("etcd:\n  endpoints: [\"https://127.0.0.1:23790\"]\n  tls: {ca: %[1]s/ca.crt, cert: %[1]s/client.crt, key: %[1]s/client.key}\n", s.certificates)
	} else {
		text += fmt.Sprintf("etcd: {embedded: {client: \"http://127.0.0.1:%d\", peer: \"http://127.0.0.1:%d\"}}\n", free[1], free[2])
	}
	files.Write(t, filepath.Join(s.dir, name+".yaml"), text)
	return name + ".yaml"
}
