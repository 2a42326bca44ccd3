package runbooks

import "testing"

// TestGrowAndShrink takes a cluster from one replica to three, to five and back to three. Then a cluster of one whose members are
// fixed becomes one of three.
func TestGrowAndShrink(t *testing.T) {
	begin(t)
	page := func() *runbook {
		m, l := startReplicas(t, 1, "", "")
		five := []string{"q1", "q2", "q3", "q4", "q5"}
		m.install(l, "", five[1:]...)
		for _, host := range five[1:] {
			m.replica(host, five...)
		}
		page := m.open("grow-to-three.md")
		page.run("Grow from one to three")
		l.awaitMore()
		page.run("Grow from three to five")
		l.awaitMore()
		page.run("Shrink")
		l.judge("q1")
		m.end()
		return page
	}()

	m, l := startReplicas(t, 1, "", "")
	m.install(l, "", "q2", "q3")
	for _, host := range []string{"q2", "q3"} {
		m.replica(host, "q1", "q2", "q3")
	}
	page.m = m
	m.must("q1", "mkdir -p /var/lib/rota/etcd.old/member/snap; echo stale >/var/lib/rota/etcd.old/member/snap/db") // of an earlier restore
	page.run("Grow with rejoin: manual")
	m.ready("q1", "q2", "q3")
	l.judge("q1")
	page.close()
}
