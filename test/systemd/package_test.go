package systemd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// build makes the Debian package as `make release` does, and returns its file.
func build(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, 15*time.Minute, "make", "-C", root, "release", "VERSION=0.0.1", "TARGETS=linux/"+runtime.GOARCH); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(root, "bin/release/dist/*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("got packages %v, want one (%v)", found, err)
	}
	return found[0]
}

// install installs the package in a machine.
func install(t *testing.T) *machine {
	t.Helper()
	m, deb := boot(t), build(t)
	data, err := os.ReadFile(deb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.root, "root/rota.deb"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	m.run("dpkg", "--install", "/root/rota.deb")
	return m
}

func TestDebianPackage(t *testing.T) {
	m := install(t)

	if out := m.run("systemd-analyze", "verify", "--man=no", "rota.service", "rota-worker.service"); out != "" {
		t.Errorf("systemd-analyze verify found something:\n%s", out)
	}
	if out, err := m.try("systemd-analyze", "security", "--threshold=20", "--no-pager", "rota.service"); err != nil {
		t.Errorf("the exposure is above 2.0:\n%s", out)
	}

	// A job runs: the start waits until the replica is ready, and the reload until it has read the files.
	m.run("systemctl", "enable", "--now", "rota")
	m.write("etc/rota/jobs.d/tick.yaml", "version: 1\njobs:\n  tick: {every: 1s, command: [/usr/bin/id, -un]}\n")
	m.run("systemctl", "reload", "rota")
	m.await("two runs of the job have succeeded", func() error { return succeeded(m, "tick", 2) })
	if who := m.run("rota", "run", "tick", "--wait", "--logs"); !strings.Contains(who, "rota") {
		t.Errorf("the job says that its user is %q, want rota", who)
	}

	// A credential of the unit reaches a job.
	m.run("mkdir", "-p", "/etc/rota/credentials", "/run/systemd/system/rota.service.d")
	m.write("etc/rota/credentials/pg", "correct\n")
	m.run("sh", "-c", "printf '[Service]\nLoadCredential=pg:/etc/rota/credentials/pg\n' > /run/systemd/system/rota.service.d/secret.conf")
	m.write("etc/rota/jobs.d/secret.yaml", `version: 1
jobs:
  secret: {shell: 'test "$PG" = correct && echo the password is there', env: {PG: "${file:/run/credentials/rota.service/pg}"}}
`)
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "restart", "rota")
	if out := m.run("rota", "run", "secret", "--wait", "--logs"); !strings.Contains(out, "the password is there") {
		t.Errorf("the job has not got the credential:\n%s", out)
	}

	// The watchdog acts on a process that makes no progress.
	m.run("sh", "-c", "printf '[Service]\nWatchdogSec=2s\n' > /run/systemd/system/rota.service.d/fast.conf")
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "restart", "rota")
	frozen := m.run("systemctl", "show", "--property=MainPID", "--value", "rota")
	m.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", "rota")
	m.await("systemd has restarted the frozen process", func() error {
		if now := m.run("systemctl", "show", "--property=MainPID", "--value", "rota"); now == frozen || now == "0" {
			return fmt.Errorf("main process %s, frozen process %s", now, frozen)
		}
		return nil
	})
	if log := m.run("journalctl", "--no-pager", "--unit=rota"); !strings.Contains(log, "Watchdog timeout") {
		t.Errorf("the restart was not the watchdog's:\n%s", log)
	}
	m.await("rota works after the restart", func() error { return succeeded(m, "tick", 4) })

	m.run("systemctl", "stop", "rota")
	if got := m.run("systemctl", "show", "--property=Result", "--value", "rota"); got != "success" {
		t.Errorf("got result %q of a stop, want success", got)
	}

	// Wrong settings end the process, and a restart would not help.
	m.write("etc/rota/worker.yaml", "nonsense: true\n")
	if out, err := m.try("systemctl", "start", "rota-worker"); err == nil {
		t.Errorf("a worker with wrong settings has started: %s", out)
	}
	if got := m.run("systemctl", "show", "--property=ExecMainStatus,ActiveState", "--value", "rota-worker"); got != "78\nfailed" && got != "failed\n78" {
		t.Errorf("got %q of a worker with wrong settings, want exit code 78 and no restart", got)
	}

	m.run("systemctl", "start", "rota")
	m.run("dpkg", "--purge", "rota")
	if out, err := m.try("sh", "-c", "grep -lx rota /proc/[0-9]*/comm"); err == nil {
		t.Errorf("processes are left after the removal: %s", out)
	}
	if _, err := os.Stat(filepath.Join(m.root, "var/lib/rota/journal.db")); err != nil {
		t.Errorf("the data did not survive the removal: %v", err)
	}
	if left := leftovers(t, m.root); len(left) > 0 {
		t.Errorf("files are left beside the data: %v", left)
	}
}

// succeeded returns nil if at least n runs of a job have succeeded.
func succeeded(m *machine, job string, n int) error {
	out, err := m.try("rota", "runs", job, "--state", "succeeded", "-o", "json")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var list struct{ Runs []struct{ State string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return err
	}
	if len(list.Runs) < n {
		return fmt.Errorf("%d runs have succeeded, want %d", len(list.Runs), n)
	}
	return nil
}

// leftovers returns the files of rota outside of its data.
func leftovers(t *testing.T, root string) (left []string) {
	t.Helper()
	for _, dir := range []string{"usr", "etc"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !d.IsDir() && strings.Contains(d.Name(), "rota") && !strings.Contains(d.Name(), "rotate") {
				left = append(left, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return left
}
