package runbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMoveToAnExternalEtcdAndFillIt moves a cluster from its embedded etcd to another one. Then it fills that etcd up to its quota.
func TestMoveToAnExternalEtcdAndFillIt(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	for _, host := range []string{"etcd-1", "etcd-2", "etcd-3"} {
		m.etcd(host, 16<<20)
	}
	for _, host := range []string{"q1", "q2", "q3"} {
		m.must(host, "cd /etc/rota/etcd-tls; cp $(hostname).crt client.crt; cp $(hostname).key client.key")
	}
	page := m.open("use-external-etcd.md")
	page.run("Move from an embedded etcd")
	l.awaitMore()
	if out := m.must("q1", "rota status"); !strings.Contains(out, "etcd-1:2379") {
		t.Errorf("the replicas do not use the new etcd:\n%s", out)
	}
	page.close()

	page = m.open("recover-a-full-store.md")
	out, code := m.sh("q1", "for i in $(seq 40); do head -c 900000 /dev/zero | tr '\\0' x | rota etcdctl put /filler/$i || exit 9; done")
	if code != 9 || !strings.Contains(out, "space exceeded") {
		t.Fatalf("etcd is not full: exit code %d\n%s", code, out)
	}
	m.await("the replica notices", "q1", "rota status | grep 'etcd is full'")
	m.must("q1", "rota etcdctl del --prefix /filler/")
	page.run("Make room")
	l.judge("q1")
	page.close()
}

// etcd writes the settings of a member of an external etcd.
func (m *machines) etcd(host string, quota int64) {
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
quota-backend-bytes: %[2]d
`, tls, quota), "HOST", host))
}
