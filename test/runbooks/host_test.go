package runbooks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// own lists the directories that each host has for itself.
var own = []string{"etc/rota", "etc/etcd", "var/lib/rota", "var/lib/etcd", "var/log", "usr/local/bin", "root"}

// names lists the hosts that a test may use. Their addresses follow from their places.
var names = []string{"admin", "q1", "q2", "q3", "q4", "q5", "w1", "w2", "etcd-1", "etcd-2", "etcd-3"}

// commandTimeout bounds the commands of one block. A page may wait in a loop.
const commandTimeout = 90 * time.Second

// onScript runs a command on a host: on HOST COMMAND.
const onScript = `#!/bin/sh
host=$1; shift
exec nsenter --net=/run/netns/$host unshare --mount --uts sh -c '
hostname "$0"
for dir in @OWN@; do mount --bind @SCRATCH@/"$0"/"$dir" "/$dir"; done
cd /root
exec "$@"' "$host" env HOME=/root "$@"
`

// scripts are the programs that each host has beside rota.
var scripts = map[string]string{
	"systemctl":  systemctl,
	"journalctl": "#!/bin/sh\nfor unit; do case $unit in rota*|etcd) tail -n 100 /var/log/$unit.log ;; esac; done\n",
	"ssh":        "#!/bin/sh\nhost=$1; shift\nexec @SCRATCH@/on \"$host\" sh -c \"$*\"\n",
	"scp": `#!/bin/sh
for to; do :; done
for from; do
	[ "$from" = "$to" ] && break
	case $from in *:*) from=@SCRATCH@/${from%%:*}/${from#*:} ;; esac
	case $to in *:*) cp "$from" "@SCRATCH@/${to%%:*}/${to#*:}" ;; *) cp "$from" "$to" ;; esac
done
`,
	"etcdutl": "#!/bin/sh\nexec rota etcdutl \"$@\"\n",
	"etcdctl": "#!/bin/sh\nexec env " + etcdVariable + "=etcdctl @SELF@ \"$@\"\n",
	"etcd":    "#!/bin/sh\nexec env " + etcdVariable + "=etcd @SELF@ \"$@\"\n",
}

// fill gives a script the paths of this run.
func fill(script string) string {
	return strings.NewReplacer("@SCRATCH@", scratch, "@OWN@", strings.Join(own, " "), "@SELF@", os.Args[0]).Replace(script)
}

// prepare makes the network and the directories of all hosts. remove deletes the directories that the machine did not have.
func prepare() (remove func(), err error) {
	var made []string
	remove = func() {
		for _, dir := range made {
			_ = os.Remove(dir) // empty: the hosts mount their own directories on it
		}
	}
	for _, dir := range own {
		if err := os.Mkdir("/"+dir, 0o755); err == nil {
			made = append([]string{"/" + dir}, made...)
		}
	}
	hosts := "127.0.0.1 localhost\n"
	setup := "mount -t tmpfs none /run; mkdir /run/netns; ip link set lo up; ip link add hosts type bridge; ip link set hosts up\n"
	for i, name := range names {
		addr := fmt.Sprintf("10.83.0.%d", i+1)
		hosts += addr + " " + name + "\n"
		setup += fmt.Sprintf(`ip netns add %[1]s
ip link add h%[2]d type veth peer name eth0 netns %[1]s; ip link set h%[2]d master hosts up
ip -n %[1]s addr add %[3]s/24 dev eth0; ip -n %[1]s link set eth0 up; ip -n %[1]s link set lo up
`, name, i, addr)
	}
	if err := os.WriteFile(filepath.Join(scratch, "hosts"), []byte(hosts), 0o644); err != nil { //nolint:gosec // As /etc/hosts.
		return remove, err
	}
	setup += "mount --bind " + scratch + "/hosts /etc/hosts\n"
	if out, err := exec.Command("sh", "-euc", setup).CombinedOutput(); err != nil {
		return remove, fmt.Errorf("make the network: %w\n%s", err, out)
	}
	return remove, os.WriteFile(filepath.Join(scratch, "on"), []byte(fill(onScript)), 0o755) //nolint:gosec // A program.
}

// machines are the hosts of one test.
type machines struct {
	t     *testing.T
	fresh map[string]bool // the hosts that have their directories
}

// newMachines returns hosts without files. All of their processes end with the test.
func newMachines(t *testing.T) *machines {
	m := &machines{t: t, fresh: map[string]bool{}}
	t.Cleanup(m.end)
	return m
}

// end ends all processes of the hosts, and removes their files.
func (m *machines) end() {
	for host := range m.fresh {
		for _, unit := range []string{"rota", "rota-worker", "etcd"} {
			if log := tail(m.file(host, "var/log/"+unit+".log"), 40); m.t.Failed() && log != "" {
				m.t.Logf("%s, the end of the log of %s:\n%s", host, unit, log)
			}
			m.sh(host, "! systemctl is-active "+unit+" || systemctl kill "+unit)
		}
	}
	for host := range m.fresh {
		if err := os.RemoveAll(filepath.Join(scratch, host)); err != nil {
			m.t.Error(err)
		}
	}
	m.fresh = map[string]bool{}
}

// file returns the path by which the test reaches a file of a host.
func (m *machines) file(host, path string) string { return filepath.Join(scratch, host, path) }

// write writes a file of a host.
func (m *machines) write(host, path, text string) {
	m.t.Helper()
	m.need(host)
	if err := os.MkdirAll(filepath.Dir(m.file(host, path)), 0o755); err != nil { //nolint:gosec // As /etc.
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.file(host, path), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// need gives a host its directories and programs, once in a test.
func (m *machines) need(host string) {
	m.t.Helper()
	if m.fresh[host] {
		return
	}
	m.fresh[host] = true
	for _, dir := range own {
		if err := os.MkdirAll(m.file(host, dir), 0o755); err != nil { //nolint:gosec // As those of a host.
			m.t.Fatal(err)
		}
	}
	for name, text := range scripts {
		m.write(host, "usr/local/bin/"+name, fill(text))
		if err := os.Chmod(m.file(host, "usr/local/bin/"+name), 0o755); err != nil { //nolint:gosec // A program.
			m.t.Fatal(err)
		}
	}
	if err := copyFile(binary, m.file(host, "usr/local/bin/rota")); err != nil {
		m.t.Fatal(err)
	}
}

// copyFile makes a program available under a second name, without a copy if both are in one file system.
func copyFile(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755) //nolint:gosec // A program.
}

// sh runs commands in the session of root on a host. It returns everything that they wrote.
func (m *machines) sh(host, commands string) (out string, code int) {
	m.t.Helper()
	m.need(host)
	// Exported variables last, as they do in a session. A last command with ! does not end a shell with -e, so its status counts here.
	script := "[ ! -e .session ] || . ./.session\n" + commands + "\nstatus=$?\nexport -p | grep -v ' PWD=\\| OLDPWD=' >.session\nexit $status\n"
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.t.Context()), commandTimeout) // also serves clean-ups of the test
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(scratch, "on"), host, "sh", "-euc", script)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ROTA_") && !strings.HasPrefix(kv, "ETCDCTL_") && !strings.HasPrefix(kv, "PATH=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &both, &both, time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		m.t.Fatalf("run commands on %s: %v", host, err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

// must runs commands that succeed, and returns what they wrote.
func (m *machines) must(host, commands string) string {
	m.t.Helper()
	out, code := m.sh(host, commands)
	if code != 0 {
		m.t.Fatalf("on %s: exit code %d\n%s\n%s", host, code, commands, out)
	}
	return out
}

// await repeats commands until they succeed.
func (m *machines) await(what, host, commands string) (out string) {
	m.t.Helper()
	var code int
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if out, code = m.sh(host, commands); code == 0 {
			return out
		}
	}
	m.t.Fatalf("not within a minute on %s: %s\nexit code %d\n%s", host, what, code, out)
	return ""
}

func tail(file string, n int) string {
	text, _ := os.ReadFile(file)
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
