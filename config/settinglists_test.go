package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A flag or a variable takes a list as a file has it, and a repeated flag adds to the list.
func TestListsOfFlagsAndVariables(t *testing.T) {
	args := []string{"--http-hosts", "a,b", "--http-hosts", "c", "--worker-labels", "zone=a", "--worker-labels", "rack=1"}
	got, err := load(t, "", args, "ROTA_NODE_NAME=q1", `ROTA_ETCD_ENDPOINTS=["http://e1:2379", "http://e2:2379"]`, "ROTA_WORKER_KINDS=[http,handler]")
	if err != nil {
		t.Fatal(err)
	}
	for name, diff := range map[string]string{
		"http.hosts":     cmp.Diff([]string{"a", "b", "c"}, got.HTTP.Hosts),
		"worker.labels":  cmp.Diff(map[string]string{"zone": "a", "rack": "1"}, got.Worker.Labels),
		"etcd.endpoints": cmp.Diff([]string{"http://e1:2379", "http://e2:2379"}, got.Etcd.Endpoints),
		"worker.kinds":   cmp.Diff([]string{"http", "handler"}, got.Worker.Kinds),
	} {
		if diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Patterns and addresses of IPv6 have brackets, which are not those of the list.
func TestElements(t *testing.T) {
	for text, want := range map[string][]string{
		"a, b": {"a", "b"}, `["a", 'b']`: {"a", "b"}, "[a]": {"a"}, "[::1],[::2]": {"[::1]", "[::2]"}, "[A]*,B[0-9]": {"[A]*", "B[0-9]"},
		"[[AB]*,C]": {"[[AB]*", "C]"}, `"a"`: {`"a"`}, "[": {"["}, "": {""},
	} {
		if diff := cmp.Diff(want, elements(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	var f listFlag
	for _, text := range []string{"[a, b]", "[A]*", "B[0-9]"} {
		if err := f.Set(text); err != nil {
			t.Error(err)
		}
	}
	if f != "a,b,[A]*,B[0-9]" {
		t.Errorf("got %s for repeated flags", f)
	}
}

func TestANamespaceIsOneName(t *testing.T) {
	_, err := load(t, "worker: {kubernetes: {namespaces: [jobs reports]}}", nil, "ROTA_NODE_NAME=q1")
	if err == nil || !strings.Contains(err.Error(), "worker.kubernetes.namespaces is no list of names") {
		t.Errorf("got %v, want a mistake in worker.kubernetes.namespaces", err)
	}
}
