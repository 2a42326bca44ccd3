package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEtcdctlArgs(t *testing.T) {
	dir := t.TempDir()
	file, password := filepath.Join(dir, "rota.yaml"), filepath.Join(dir, "password")
	for path, text := range map[string]string{
		password: "secret\n",
		file:     "node: {name: q1}\netcd: {endpoints: [http://e1:2379, http://e2:2379], username: rota, password_file: " + password + "}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name    string
		environ []string
		args    []string
		want    []string
	}{
		{"the file says it all", nil, []string{"--config", file, "get", "/x"},
			[]string{"--endpoints=http://e1:2379,http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"all but where", nil, []string{"--config", file, "--endpoints", "http://e2:2379", "snapshot", "save", "f"},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "snapshot", "save", "f"}},
		{"in any order", nil, []string{"get", "--endpoints=http://e2:2379", "/x", "--config=" + file},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"where alone", nil, []string{"get", "/x", "--endpoints=http://e2:2379"}, []string{"--endpoints=http://e2:2379", "get", "/x"}},
		{"what follows -- is nobody's flag", nil, []string{"--endpoints=http://e2:2379", "put", "--", "--config", "x"},
			[]string{"--endpoints=http://e2:2379", "put", "--", "--config", "x"}},
		{"the file of the environment", []string{"ROTA_CONFIG=" + file}, []string{"get", "/x"},
			[]string{"--endpoints=http://e1:2379,http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"and where", []string{"ROTA_CONFIG=" + file}, []string{"--endpoints=http://e2:2379", "get", "/x"},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"etcd's own variable", []string{"ROTA_CONFIG=" + file, "ROTA_SERVER=http://127.0.0.1:1", "ETCDCTL_ENDPOINTS=http://e2:2379"}, []string{"get", "/x"},
			[]string{"get", "/x"}},
		{"another user of etcd", nil, []string{"--config", file, "--user", "root:other", "defrag", "--command-timeout=1s"}, []string{
			"--endpoints=http://e1:2379,http://e2:2379", "--user=rota", "--user", "root:other", "defrag", "--command-timeout=1s",
		}},
		{"the same user", nil, []string{"--config", file, "--endpoints=http://e2:2379", "--user", "rota", "get", "/x"},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "--user", "rota", "get", "/x"}},
		{"with another password", nil, []string{"--config", file, "--endpoints=http://e2:2379", "--user=rota:other", "get", "/x"},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--user=rota:other", "get", "/x"}},
		{"a value of that name is no user", nil, []string{"--config", file, "--endpoints=http://e2:2379", "put", "--", "--user", "x"},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "put", "--", "--user", "x"}},
		{"the same user by its variable", []string{"ROTA_CONFIG=" + file, "ETCDCTL_USER=rota"}, []string{"--endpoints=http://e2:2379", "get", "/x"},
			[]string{"--endpoints=http://e2:2379", "--password=secret", "get", "/x"}},
		{"and by variables", []string{"ROTA_CONFIG=" + file, "ETCDCTL_USER=root", "ETCDCTL_PASSWORD=other"}, []string{"get", "/x"},
			[]string{"--endpoints=http://e1:2379,http://e2:2379", "get", "/x"}},
		{"defrag takes as long as a large store needs", []string{"ETCDCTL_ENDPOINTS=http://e2:2379"}, []string{"defrag"},
			[]string{"--command-timeout=10m", "defrag"}},
		{"and so does compaction", nil, []string{"--endpoints=http://e2:2379", "-w", "json", "compaction", "7"},
			[]string{"--endpoints=http://e2:2379", "--command-timeout=10m", "-w", "json", "compaction", "7"}},
		{"unless a flag has a limit", nil, []string{"--endpoints=http://e2:2379", "defrag", "--command-timeout", "1s"},
			[]string{"--endpoints=http://e2:2379", "defrag", "--command-timeout", "1s"}},
		{"or a variable", []string{"ETCDCTL_ENDPOINTS=http://e2:2379", "ETCDCTL_COMMAND_TIMEOUT=1s"}, []string{"defrag"}, []string{"defrag"}},
		{"a key of that name is no command", nil, []string{"--endpoints=http://e2:2379", "put", "--", "defrag", "x"},
			[]string{"--endpoints=http://e2:2379", "put", "--", "defrag", "x"}},
		{"what it says of itself needs no store", []string{"ROTA_SERVER=http://127.0.0.1:1"}, []string{"version"}, []string{"version"}},
		{"nor does help", []string{"ROTA_SERVER=http://127.0.0.1:1"}, []string{"--hex", "get", "-h"}, []string{"--hex", "get", "-h"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := (&cli{environ: tc.environ}).etcdctlArgs(t.Context(), tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The flags of rota must not reach etcdctl's own parser.
func TestEtcdctlTakesTheFlagServer(t *testing.T) {
	for _, args := range [][]string{
		{"--server", "http://127.0.0.1:1", "get", "/x"},
		{"get", "/x", "--server=http://127.0.0.1:1", "--endpoints=http://e2:2379"},
	} {
		c := &cli{environ: []string{"ETCDCTL_ENDPOINTS=http://e2:2379"}}
		got, err := c.etcdctlArgs(t.Context(), args)
		if code := exitCode(t.Context(), err); code != exitUnavailable || c.server != "http://127.0.0.1:1" {
			t.Errorf("%q: got %q, %v, server %q; want the server asked, and code %d", args, got, err, c.server, exitUnavailable)
		}
	}
	code, _, stderr := runHere([]string{"ETCDCTL_ENDPOINTS=http://e2:2379"}, "--server", "http://127.0.0.1:1", "etcdctl", "get", "/x")
	if code != exitUnavailable || !strings.Contains(stderr, "no rota answers at http://127.0.0.1:1") {
		t.Errorf("--server before the command: got %d, %q", code, stderr)
	}
	for _, args := range [][]string{{"get", "help"}, {"put", "--", "/x", "--help"}} {
		c := &cli{environ: []string{"ROTA_SERVER=http://127.0.0.1:1"}}
		if got, err := c.etcdctlArgs(t.Context(), args); exitCode(t.Context(), err) != exitUnavailable {
			t.Errorf("%q, which is no help: got %q, %v; want the server asked, and code %d", args, got, err, exitUnavailable)
		}
	}
	if _, err := new(cli).etcdctlArgs(t.Context(), []string{"get", "/x", "--server"}); exitCode(t.Context(), err) != exitUsage {
		t.Errorf("--server without a value: got %v, want a usage error", err)
	}
}

// An empty value usually comes from an unset variable in a script. Without the flag, the command would use another store.
func TestAnEmptyFlagNamesNoStore(t *testing.T) {
	for _, args := range [][]string{
		{"etcdctl", "--server", "", "get", "/x"}, {"etcdctl", "get", "/x", "--server="}, {"etcdctl", "--endpoints=", "get", "/x"},
		{"etcdctl", "--config", "", "get", "/x"}, {"verify", "--config", ""}, {"verify", "--endpoints="}, {"doctor", "--config="},
		{"doctor", "--endpoints", ""}, {"doctor", "--endpoints", ","}, {"serve", "--config", ""}, {"worker", "--config="}, {"config", "show", "--config", ""},
	} {
		code, stdout, stderr := runHere([]string{"ETCDCTL_ENDPOINTS=http://127.0.0.1:1"}, args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "is empty: give") {
			t.Errorf("%q: code %d, printed %q, %q; want a usage error", args, code, stdout, stderr)
		}
	}
}
