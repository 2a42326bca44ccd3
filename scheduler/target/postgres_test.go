package target_test

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/rota-scheduler/rota/scheduler/target"
)

// dsn is the connection string of the PostgreSQL of the tests; empty if there is none.
var dsn string

func TestMain(m *testing.M) {
	stop, err := startPostgres()
	if err != nil {
		fmt.Fprintln(os.Stderr, "SKIPPED: no PostgreSQL here (install postgresql):", err)
		if os.Getenv("ROTA_CI") != "" {
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// startPostgres starts a PostgreSQL on a free port of loopback. PostgreSQL refuses to run as root, so startPostgres runs it as
// another user.
func startPostgres() (stop func(), err error) {
	bin := ""
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err == nil && len(found) > 0 {
		bin = filepath.Dir(slices.Max(found))
	} else if path, err := exec.LookPath("initdb"); err == nil {
		bin = filepath.Dir(path)
	} else {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rota-target-")
	if err != nil {
		return nil, err
	}
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(account.Uid)
		gid, _ := strconv.Atoi(account.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	run := func(name string, args ...string) error {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.SysProcAttr, cmd.Dir = attributes, dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		return nil
	}
	data := filepath.Join(dir, "data")
	if err := run("initdb", "-D", data, "-U", "rota", "-A", "trust", "-N"); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("-p %d -k %s -c listen_addresses=127.0.0.1 -c fsync=off", port, dir)
	if err := run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", options, "start"); err != nil {
		return nil, err
	}
	dsn = fmt.Sprintf("postgres://rota@127.0.0.1:%d/postgres?sslmode=disable", port)
	return func() {
		_ = run("pg_ctl", "-D", data, "-m", "immediate", "stop")
		_ = os.RemoveAll(dir)
	}, nil
}

// database returns an empty database with Schema, executed twice, and a table of effects.
func database(t *testing.T) *sql.DB {
	t.Helper()
	if dsn == "" {
		t.Skip("NOT TESTED: no PostgreSQL here")
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(20)
	db.SetConnMaxIdleTime(time.Second)
	for _, text := range []string{
		`DROP TABLE IF EXISTS rota_fences, rota_answers, effects`, target.Schema, target.Schema,
		`CREATE TABLE effects (run text NOT NULL, token bigint NOT NULL)`,
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return db
}
