package runbooks

import "testing"

const memberPage = "replace-a-member.md"

// TestReplaceAMember loses the disk of one replica, first with rejoin: manual and then with auto. The operator is interrupted
// after step 2, and begins again.
func TestReplaceAMember(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	page := m.open(memberPage)

	lose := func() {
		m.must("q2", "systemctl kill rota; rm -r /var/lib/rota/*")
		l.awaitMore()
	}
	lose()
	// An operator whose session ended after step 2 begins again.
	m.must("q1", `export ROTA_CONFIG=/etc/rota/rota.yaml
rota etcdctl member remove $(rota etcdctl member list | awk -F', ' '$3 == "q2" { print $1 }')
until rota etcdctl member add q2 --peer-urls=https://q2:2380; do sleep 1; done`)
	page.run("By hand")
	m.ready("q1", "q2", "q3")

	page.run("Let members join by themselves")
	lose()
	page.run("Replace a member that joins by itself")
	m.ready("q1", "q2", "q3")
	l.judge("q1")
	page.close()
}
