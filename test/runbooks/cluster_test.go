package runbooks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// authorities makes the certificates of all hosts and of the user alice once, as run-three-replicas.md does.
var authorities = sync.OnceValue(func() error {
	for _, dir := range []string{"pki", "etcd-pki"} {
		dir := filepath.Join(scratch, dir)
		commands := [][]string{{"init", "--cluster", "prod"}, {"issue", "alice", "--role", "user"}}
		for _, host := range names {
			commands = append(commands, []string{"issue", host, "--role", role(host)})
		}
		for _, args := range commands {
			if out, err := exec.Command(binary, append(append([]string{"pki"}, args...), "--dir", dir)...).CombinedOutput(); err != nil {
				return fmt.Errorf("rota pki %s: %w\n%s", strings.Join(args, " "), err, out)
			}
		}
	}
	return nil
})

func role(host string) string {
	if strings.HasPrefix(host, "w") {
		return "worker"
	}
	return "replica"
}

// install puts certificates, roles and jobs on a host, as run-three-replicas.md does.
func (m *machines) install(l *load, jobs string, hosts ...string) {
	m.t.Helper()
	if err := authorities(); err != nil {
		m.t.Fatal(err)
	}
	for _, host := range hosts {
		for from, to := range map[string]string{"pki": "etc/rota/tls/", "etcd-pki": "etc/rota/etcd-tls/"} {
			for _, file := range []string{"ca.crt", host + ".crt", host + ".key"} {
				text, err := os.ReadFile(filepath.Join(scratch, from, file))
				if err != nil {
					m.t.Fatal(err)
				}
				m.write(host, to+file, string(text))
			}
		}
		m.write(host, "etc/rota/auth.yaml", "bindings:\n  - {principal: alice, role: admin}\n")
		m.write(host, "etc/rota/jobs.d/jobs.yaml", l.jobs(jobs))
		m.must(host, "export ROTA_CONFIG=/etc/rota/rota.yaml")
	}
}

// admin gives the machine of the operator the authorities and the certificate of alice.
func (m *machines) admin() {
	m.t.Helper()
	m.need("admin")
	for _, dir := range []string{"pki", "etcd-pki"} {
		if err := os.CopyFS(m.file("admin", "root/"+dir), os.DirFS(filepath.Join(scratch, dir))); err != nil {
			m.t.Fatal(err)
		}
	}
	m.must("admin", `export ROTA_SERVER=https://q1:8470,https://q2:8470,https://q3:8470
export ROTA_CACERT=pki/ca.crt ROTA_CERT=pki/alice.crt ROTA_CERT_KEY=pki/alice.key`)
}

// replica writes the settings of a replica of a cluster of the named hosts, as run-three-replicas.md does.
func (m *machines) replica(host string, cluster ...string) {
	m.t.Helper()
	var peers []string
	for _, peer := range cluster {
		peers = append(peers, fmt.Sprintf("%[1]s=https://%[1]s:2380", peer))
	}
	m.settings(host, strings.ReplaceAll(`
node: {name: HOST, data_dir: /var/lib/rota}
http:
  listen: 0.0.0.0:8470
  advertise: HOST:8470
  tls: {cert: /etc/rota/tls/HOST.crt, key: /etc/rota/tls/HOST.key, client_ca: /etc/rota/tls/ca.crt}
auth: {mode: required, file: /etc/rota/auth.yaml}
etcd:
  embedded:
    client: https://127.0.0.1:2379
    peer: https://HOST:2380
    tls: {cert: /etc/rota/etcd-tls/HOST.crt, key: /etc/rota/etcd-tls/HOST.key, ca: /etc/rota/etcd-tls/ca.crt}
    cluster: `, "HOST", host)+strings.Join(peers, ",")+`
jobs: /etc/rota/jobs.d
history: {success: 1000}
worker: {shutdown_grace: 3s}
`)
}

// startReplicas starts a cluster under load on the hosts q1, q2 and so on, and waits until it dispatches. more is further
// settings of each replica, as YAML.
func startReplicas(t *testing.T, n int, more, jobs string) (*machines, *load) {
	t.Helper()
	m := newMachines(t)
	l := m.newLoad()
	hosts := []string{"q1", "q2", "q3", "q4", "q5"}[:n]
	m.install(l, jobs, hosts...)
	for _, host := range hosts {
		m.replica(host, hosts...)
		m.settings(host, more)
		m.must(host, "systemctl start --no-block rota")
	}
	m.ready(hosts...)
	l.awaitMore()
	return m, l
}

// ready waits until replicas are ready.
func (m *machines) ready(hosts ...string) {
	m.t.Helper()
	for _, host := range hosts {
		m.must(host, "rota health --ready --wait 1m")
	}
}
