package runbooks

import "testing"

const memberPage = "replace-a-member.md"

// TestReplaceAMember loses the disk of one replica, first with rejoin: manual and then with auto.
func TestReplaceAMember(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	page := m.open(memberPage)

	lose := func() {
		m.must("q2", "systemctl kill rota; rm -r /var/lib/rota/*")
		l.awaitMore()
	}
	lose()
	page.run("By hand")
	m.ready("q1", "q2", "q3")

	page.run("Let members join by themselves")
	lose()
	page.run("Replace a member that joins by itself")
	m.ready("q1", "q2", "q3")
	l.judge("q1")
	page.close()
}
