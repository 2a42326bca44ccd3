package main

import (
	"os"
	"path/filepath"
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
	c := &cli{}
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"the file says it all", []string{"--config", file, "get", "/x"},
			[]string{"--endpoints=http://e1:2379,http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"all but where", []string{"--config", file, "--endpoints", "http://e2:2379", "snapshot", "save", "f"},
			[]string{"--endpoints", "http://e2:2379", "--user=rota", "--password=secret", "snapshot", "save", "f"}},
		{"in any order", []string{"get", "--endpoints=http://e2:2379", "/x", "--config=" + file},
			[]string{"--endpoints=http://e2:2379", "--user=rota", "--password=secret", "get", "/x"}},
		{"where alone", []string{"get", "/x", "--endpoints=http://e2:2379"}, []string{"--endpoints=http://e2:2379", "get", "/x"}},
		{"what follows -- is nobody's flag", []string{"--endpoints=http://e2:2379", "put", "--", "--config", "x"},
			[]string{"--endpoints=http://e2:2379", "put", "--", "--config", "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := c.etcdctlArgs(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
