package runbooks

import (
	"strings"
	"testing"
)

// TestRenewCertificates renews the certificates of a running cluster. Then all of them expire, and the replicas restart.
func TestRenewCertificates(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	m.admin()
	page := m.open("renew-certificates.md")
	page.run("See what ends soon")
	served := func() (serials string) {
		for _, host := range []string{"q1", "q2", "q3"} {
			serials += m.must(host, `for port in 8470 2379; do
	openssl s_client -connect 127.0.0.1:$port </dev/null 2>/dev/null | openssl x509 -noout -serial
done`)
		}
		return serials
	}
	before := served()
	page.run("Renew")
	page.run("Check")
	if after := served(); after == before || strings.Count(after, "serial=") != 6 {
		t.Errorf("the processes serve\n%safter the renewal, and before it\n%s", after, before)
	}
	l.awaitMore()

	m.must("admin", `for host in q1 q2 q3; do for dir in pki etcd-pki; do
	rota pki issue $host --role replica --dir $dir --life 1s; to=$(echo $dir | sed 's/etcd-pki/etcd-tls/; s/^pki/tls/')
	scp $dir/$host.crt $dir/$host.key $host:/etc/rota/$to/; done; done`)
	m.await("the certificates expire", "admin", "! openssl x509 -checkend 0 -noout -in etcd-pki/q3.crt")
	for _, host := range []string{"q1", "q2", "q3"} {
		m.must(host, "systemctl kill rota; systemctl start --no-block rota")
	}
	m.await("the cluster does not work with expired certificates", "q1", "! rota health --ready && grep -q 'expired\\|bad certificate' /var/log/rota.log")
	page.run("Renew")
	page.run("If certificates have expired")
	l.judge("q1")
	page.close()
}
