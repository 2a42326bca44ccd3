package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// TestTheManifestsRun applies the manifests to an empty node, runs the example with the commands of NOTES, and deletes the pod of the
// leader by force while jobs run.
func TestTheManifestsRun(t *testing.T) {
	n := startNode(t, "rota:dev")
	n.kubectl("apply", "-f", "../../deploy/kubernetes/")
	r := newRelease(n)
	var out string
	cluster.Await(t, time.Minute, "the example runs", func() (ran bool) {
		var err error
		out, err = r.rota("rota-0", "run", "hello", "--wait", "--logs")
		return err == nil
	})
	if !strings.Contains(out, "rota:") {
		t.Errorf("the example prints %q, want the version of rota", out)
	}
	names, err := r.rota("rota-1", "runs", "hello", "--state", "succeeded", "-o", "name")
	run, _, _ := strings.Cut(names, "\n")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.rota("rota-1", "logs", run); err != nil || !strings.Contains(out, "rota:") {
		t.Errorf("the output of %q is %q, %v", run, out, err)
	}

	var load strings.Builder
	load.WriteString("version: 1\njobs:\n")
	for i := range 5 {
		fmt.Fprintf(&load, "  load-%d: {every: 1s, missed: all, overlap: allow, command: [/rota, version]}\n", i)
	}
	n.kubectl("patch", "configmap", "rota-jobs", "--type=merge", "-p", fmt.Sprintf(`{"data":{"load.yaml":%q}}`, load.String()))
	cluster.Await(t, 3*time.Minute, "the jobs of the ConfigMap run", func() bool {
		out, err := r.rota("rota-0", "runs", "load-4", "--state", "succeeded")
		return err == nil && strings.Contains(out, "load-4/")
	})
	r.lose(r.leader())
	r.verify(t)
}
