package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// used returns the processor time of this process and of its children that have ended.
func used() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if syscall.Getrusage(who, &r) == nil {
			sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return sum
}

// machine returns the processor's name and the number of cores.
func machine() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), strings.Trim(name, "\t :\n"))
		}
	}
	return fmt.Sprintf("%d cores", runtime.NumCPU())
}

// startServer starts a server. stop ends it with a signal and waits, so that used counts its time.
func startServer(cmd *exec.Cmd, end os.Signal) (stop func() error, err error) {
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() error {
		_ = cmd.Process.Signal(end)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, log.String())
		}
		return nil
	}, nil
}

// await calls ready until it succeeds, for at most five minutes.
func await(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startPostgres starts PostgreSQL in dir, tuned for two cores, with a sync before each answer. It returns the address.
func startPostgres(ctx context.Context, dir string) (address, version string, stop func() error, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		return "", "", nil, errors.Join(err, errors.New("no PostgreSQL in /usr/lib/postgresql: apt-get install postgresql"))
	}
	bin, data := slices.Max(found), filepath.Join(dir, "data")
	owner, err := unprivileged(dir)
	if err != nil {
		return "", "", nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, owner
		return cmd
	}
	if out, err := command("initdb", "-D", data, "-A", "trust", "-U", "peers", "-E", "UTF8").CombinedOutput(); err != nil {
		return "", "", nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	args := []string{"-D", data, "-k", dir}
	for _, setting := range []string{
		"listen_addresses=", "fsync=on", "synchronous_commit=on", "full_page_writes=on", // durable
		"shared_buffers=1GB", "wal_buffers=64MB", "max_wal_size=8GB", "checkpoint_timeout=15min", "wal_compression=on",
		"commit_delay=200", "commit_siblings=2", "effective_cache_size=4GB", "autovacuum_naptime=10s", "jit=off",
	} {
		args = append(args, "-c", setting)
	}
	if stop, err = startServer(command("postgres", args...), syscall.SIGINT); err != nil {
		return "", "", nil, err
	}
	out, err := command("postgres", "--version").Output()
	return "postgres://peers@/postgres?host=" + dir, strings.TrimSpace(string(out)), stop, err
}

// unprivileged gives dir to a user who may run PostgreSQL, which refuses to run as root.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(dir, uid, gid)
}
