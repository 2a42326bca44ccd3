package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
)

// release is the chart or its manifests, installed on a node under the name rota.
type release struct {
	n     *node
	token string // of an administrator
}

// newRelease waits until the replicas are ready.
func newRelease(n *node) *release {
	n.t.Helper()
	r := &release{n: n}
	r.awaitReady()
	r.token = n.run("sh", "-c", "kubectl get secret rota-admin -o jsonpath='{.data.token}' | base64 -d")
	return r
}

// awaitReady waits until all pods of the StatefulSet are ready, and have its present version.
func (r *release) awaitReady() {
	r.n.t.Helper()
	r.n.kubectl("rollout", "status", "statefulset/rota", "--timeout=5m")
}

// rota runs a command in a pod as an administrator.
func (r *release) rota(pod string, args ...string) (string, error) {
	return r.n.try(r.token, "kubectl", append([]string{"exec", "-i", pod, "--", "/rota", "--token-file", "-"}, args...)...)
}

// status asks the pods in turn, until one answers.
func (r *release) status() (v api.ClusterView, err error) {
	err = errors.New("no pod answers")
	for i := range 5 {
		out, failed := r.rota(fmt.Sprintf("rota-%d", i), "status", "-o", "json")
		if json.Unmarshal([]byte(out), &v) == nil && v.Leader != nil {
			return v, nil // the exit code is 7 if something needs attention
		}
		if failed != nil {
			err = failed
		}
	}
	return v, err
}

// leader returns the pod that leads.
func (r *release) leader() (pod string) {
	r.n.t.Helper()
	cluster.Await(r.n.t, time.Minute, "a pod leads", func() bool {
		v, err := r.status()
		if err == nil {
			pod = v.Leader.Node
		}
		return strings.HasPrefix(pod, "rota-")
	})
	return pod
}

// lose deletes a pod by force. Without a StorageClass, its data are lost. It returns when another pod has its place and is ready.
func (r *release) lose(pod string) {
	r.n.t.Helper()
	uid := r.n.kubectl("get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
	lost := time.Now()
	r.n.kubectl("delete", "pod", pod, "--force", "--grace-period=0")
	cluster.Await(r.n.t, time.Minute, pod+" is made again", func() bool {
		now, err := r.n.try("", "kubectl", "get", "pod", pod, "-o", "jsonpath={.metadata.uid}")
		return err == nil && now != uid
	})
	r.awaitReady()
	r.n.t.Logf("%s is ready again %v after its end", pod, time.Since(lost).Round(time.Second))
}

// verify checks the invariants of the store. A store that changes all the time may need some tries.
func (r *release) verify(t *testing.T) {
	t.Helper()
	var out string
	var err error
	if !cluster.Within(2*time.Minute, func() bool { out, err = r.rota("rota-0", "verify", "--all-changes"); return err == nil }) {
		t.Errorf("rota verify: %v", err)
	}
	t.Logf("rota verify: %s", out)
}

// awaitMembers waits until the cluster expects a number of replicas, and all are present.
func (r *release) awaitMembers(want int) {
	r.n.t.Helper()
	var last api.ClusterView
	if !cluster.Within(2*time.Minute, func() bool {
		v, err := r.status()
		last = v
		return err == nil && len(v.Members) == want && !slices.ContainsFunc(v.Members, func(m api.MemberView) bool { return m.State != "present" })
	}) {
		r.n.t.Fatalf("the members are %+v, want %d", last.Members, want)
	}
}

// verifyLost checks that each repeated run records that the attempts before its last one were lost.
func (r *release) verifyLost(runs []string) {
	r.n.t.Helper()
	for _, name := range runs {
		out, err := r.rota("rota-0", "run-info", name, "-o", "json")
		var v api.RunView
		if err == nil {
			err = json.Unmarshal([]byte(out), &v)
		}
		if err != nil {
			r.n.t.Errorf("read %s: %v", name, err)
			continue
		}
		for _, a := range v.Attempts[:len(v.Attempts)-1] {
			if a.State != job.Lost {
				r.n.t.Errorf("%s was repeated after an attempt that was not lost, but %s: %s", name, a.State, a.Reason)
			}
		}
	}
}
