package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

// A settings file may be unreadable for a moment. Its list of members stays in force: that of the start may be shorter, and members
// that are not on it are removed while they are silent.
func TestTheListOfMembersOutlivesABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rota.yaml")
	settings := func(cluster string) string {
		return "node: {name: q1}\netcd: {embedded: {peer: 'http://q1:2380'" + cluster + "}}\n"
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const one, three = "q1=http://q1:2380", "q1=http://q1:2380,q2=http://q2:2380,q3=http://q3:2380"
	write(settings(", cluster: '" + one + "'"))
	set, err := config.LoadSettings(path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &cli{}
	members := c.members(set, path)
	write("etcd: {")
	if got := members(); got != "" {
		t.Errorf("before the first reading: got %q", got)
	}
	for _, step := range []struct{ text, want string }{
		{settings(", cluster: '" + three + "'"), three},
		{"etcd: {embedded: {cluster: 'q1=http", three},
		{settings(""), three},
		{settings(", cluster: '" + one + "'"), one},
	} {
		write(step.text)
		if got := members(); got != step.want {
			t.Errorf("with %q: got %q, want %q", step.text, got, step.want)
		}
	}
	set, err = config.LoadSettings("", nil, []string{"ROTA_ETCD_EMBEDDED_CLUSTER=rota=http://127.0.0.1:2380", "ROTA_NODE_NAME=rota"})
	if err != nil {
		t.Fatal(err)
	}
	if c.members(set, path) != nil {
		t.Error("a list of the environment is read from the file")
	}
}
