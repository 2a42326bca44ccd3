package runbooks

import (
	"strings"
	"testing"
)

// TestRemoveAWorker stops a worker while it executes.
func TestRemoveAWorker(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 1, "etcd: {embedded: {client: 'https://q1:2379'}}", "  long: {workers: {zone: far}, shell: 'sleep 3; echo done'}\n")
	m.install(l, "", "w1")
	m.write("w1", "etc/rota/worker.yaml", `
node: {name: w1, data_dir: /var/lib/rota}
http: {listen: "0.0.0.0:8470", advertise: "w1:8470", tls: {cert: /etc/rota/tls/w1.crt, key: /etc/rota/tls/w1.key, client_ca: /etc/rota/tls/ca.crt}}
auth: {mode: required, file: /etc/rota/auth.yaml}
etcd:
  endpoints: [https://q1:2379]
  tls: {cert: /etc/rota/etcd-tls/w1.crt, key: /etc/rota/etcd-tls/w1.key, ca: /etc/rota/etcd-tls/ca.crt}
worker: {shutdown_grace: 20s, labels: {zone: far}}
`)
	m.must("w1", "systemctl start rota-worker")
	run := strings.TrimSpace(m.must("q1", "rota run long"))
	m.await("the worker executes", "q1", "rota run-info "+run+" | grep running")
	page := m.open("remove-a-worker.md")
	wrote := page.run("Remove a worker")
	if !strings.Contains(wrote, "long: No worker accepts its runs") || !strings.Contains(wrote, "name a token with --token-file") {
		t.Errorf("rota doctor does not name the job that needs the worker, or what it needs itself:\n%s", wrote)
	}
	out := m.must("q1", "rota run-info "+run)
	if !strings.Contains(out, "succeeded") {
		t.Errorf("the run of the worker:\n%s", out)
	}
	if out := m.must("q1", "rota workers"); strings.Contains(out, "w1") {
		t.Errorf("the worker is still there:\n%s", out)
	}
	l.judge("q1")
	page.close()
}
