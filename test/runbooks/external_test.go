package runbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUseAnExternalEtcdAndFillIt begins with an external etcd, and changes the password of its user. Then it moves another cluster
// from its embedded etcd to an external one, and fills that etcd up to its quota. Before that, it defragments the embedded one.
func TestUseAnExternalEtcdAndFillIt(t *testing.T) {
	begin(t)
	page := beginWithAnExternalEtcd(t)
	m, l := startReplicas(t, 3, "", "")
	full := m.open("recover-a-full-store.md")
	full.run("Defragment an embedded etcd")
	l.awaitMore()
	for _, host := range []string{"etcd-1", "etcd-2", "etcd-3"} {
		m.etcd(host, "quota-backend-bytes: 16777216\n")
	}
	m.etcdClients("q1", "q2", "q3")
	page.m = m
	page.run("Move from an embedded etcd")
	l.awaitMore()
	if out := m.must("q1", "rota status"); !strings.Contains(out, "etcd-1:2379") {
		t.Errorf("the replicas do not use the new etcd:\n%s", out)
	}
	page.close()

	out, code := m.sh("q1", "for i in $(seq 40); do head -c 900000 /dev/zero | tr '\\0' x | rota etcdctl put /filler/$i || exit 9; done")
	if code != 9 || !strings.Contains(out, "space exceeded") {
		t.Fatalf("etcd is not full: exit code %d\n%s", code, out)
	}
	m.await("the replica notices", "q1", "rota status | grep 'etcd is full'")
	m.must("q1", "rota etcdctl del --prefix /filler/")
	full.run("Compact")
	full.run("Defragment your own etcd")
	full.run("Clear the alarm")
	l.judge("q1")
	full.close()
}

// beginWithAnExternalEtcd starts a new cluster of two replicas on an etcd without users.
func beginWithAnExternalEtcd(t *testing.T) *runbook {
	t.Helper()
	m := newMachines(t)
	l := m.newLoad()
	members := []string{"etcd-1", "etcd-2", "etcd-3"}
	m.install(l, "", "q1", "q2")
	m.etcdClients("q1", "q2")
	for _, host := range []string{"q1", "q2"} {
		m.settings(host, strings.ReplaceAll(`
node: {name: HOST, data_dir: /var/lib/rota}
http:
  listen: 0.0.0.0:8470
  advertise: HOST:8470
  tls: {cert: /etc/rota/tls/HOST.crt, key: /etc/rota/tls/HOST.key, client_ca: /etc/rota/tls/ca.crt}
auth: {mode: required, file: /etc/rota/auth.yaml}
jobs: /etc/rota/jobs.d
history: {success: 1000}
`, "HOST", host))
	}
	for _, host := range members {
		m.etcd(host, "bcrypt-cost: 4\n") // the members share one machine, on which other tests run
		m.must(host, "systemctl start --no-block etcd")
	}
	m.await("etcd has a leader", "etcd-1", "etcdctl endpoint health --endpoints https://etcd-1:2379 "+
		"--cacert /etc/etcd/ca.crt --cert /etc/etcd/etcd-1.crt --key /etc/etcd/etcd-1.key")
	page := m.open("use-external-etcd.md")
	page.run("1. Check the version")
	page.run("2. Create a user")
	page.run("3. Set quota and compaction")
	if out := page.run("4. Point the replicas at it"); !strings.Contains(out, "etcd-1:2379") {
		t.Errorf("the replicas do not use the etcd:\n%s", out)
	}
	l.awaitMore()
	if out, code := m.sh("etcd-1", "ETCDCTL_USER=rota ETCDCTL_PASSWORD=\"$(cat rota-password)\" etcdctl get /other/key"); code == 0 {
		t.Errorf("the user of rota may read other keys:\n%s", out)
	}
	page.run("Change the password")
	l.judge("q1")
	m.end()
	return page
}

// etcdClients gives replicas the client certificates that the page names.
func (m *machines) etcdClients(hosts ...string) {
	m.t.Helper()
	for _, host := range hosts {
		m.must(host, "cd /etc/rota/etcd-tls; cp $(hostname).crt client.crt; cp $(hostname).key client.key")
	}
}

// etcd writes the settings of a member of an external etcd. more is further settings, as YAML.
func (m *machines) etcd(host, more string) {
	m.t.Helper()
	for _, file := range []string{"ca.crt", host + ".crt", host + ".key"} {
		text, err := os.ReadFile(filepath.Join(scratch, "etcd-pki", file))
		if err != nil {
			m.t.Fatal(err)
		}
		m.write(host, "etc/etcd/"+file, string(text))
	}
	tls := fmt.Sprintf("{cert-file: /etc/etcd/%[1]s.crt, key-file: /etc/etcd/%[1]s.key, trusted-ca-file: /etc/etcd/ca.crt, client-cert-auth: true}", host)
	m.write(host, "etc/etcd/etcd.yaml", strings.ReplaceAll(fmt.Sprintf(`
name: HOST
data-dir: /var/lib/etcd/rota
listen-client-urls: https://0.0.0.0:2379
advertise-client-urls: https://HOST:2379
listen-peer-urls: https://0.0.0.0:2380
initial-advertise-peer-urls: https://HOST:2380
initial-cluster: etcd-1=https://etcd-1:2380,etcd-2=https://etcd-2:2380,etcd-3=https://etcd-3:2380
initial-cluster-token: rota-moved
client-transport-security: %[1]s
peer-transport-security: %[1]s
%[2]s`, tls, more), "HOST", host))
}
