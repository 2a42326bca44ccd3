package runbooks

import (
	"strings"
	"testing"
	"time"
)

// TestRestoreABackup loses the disks of all replicas, and restores a backup that is older than the last runs.
func TestRestoreABackup(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	page := m.open("back-up-and-restore.md")
	page.run("Back up")
	l.backup = time.Now()
	l.awaitMore()
	for _, host := range []string{"q1", "q2", "q3"} {
		m.must(host, "systemctl kill rota; rm -r /var/lib/rota/etcd")
		m.must(host, "sed -i 's/missed: all/missed: none/' /etc/rota/jobs.d/jobs.yaml")
	}
	if out := page.run("Restore"); !strings.Contains(out, "/rota/jobs/tick") {
		t.Errorf("the restored store has no jobs:\n%s", out)
	}
	l.accepted = time.Now()
	l.judge("q1")
	page.close()
}

// TestRecoverALostQuorum loses the disks of two replicas of three. The operator is interrupted in step 2, and begins it again.
func TestRecoverALostQuorum(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	for _, host := range []string{"q2", "q3"} {
		m.must(host, "systemctl kill rota; rm -r /var/lib/rota/*")
	}
	page := m.open("recover-a-lost-quorum.md")
	m.await("the majority is lost", "q1", "rota status | grep 'the majority is lost'")
	page.run("How you notice")
	m.must("q1", "systemctl stop rota; mv /var/lib/rota/etcd /var/lib/rota/etcd.$(date +%F); echo a part >survivor.db")
	page.run("Begin again with the data of one member")
	l.judge("q1")
	page.close()
}
