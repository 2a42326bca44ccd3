package runbooks

import (
	"strings"
	"testing"
)

// TestRepairJobFiles puts old job files on one replica, as a restored disk has them.
func TestRepairJobFiles(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "  new: {every: 1h, shell: 'true'}\n")
	m.write("q3", "etc/rota/jobs.d/jobs.yaml", l.jobs(""))
	m.must("q3", "touch -d '1 hour ago' /etc/rota/jobs.d/jobs.yaml; systemctl restart rota")
	m.await("the old files are in force", "q1", "! rota job new")
	m.write("q3", "etc/rota/jobs.new/stale.yaml", "version: 1\njobs:\n  stale: {every: 1h, shell: 'true'}\n") // of a repair that was interrupted
	m.write("q3", "etc/rota/jobs.old/jobs.yaml", "")
	page := m.open("repair-job-files.md")
	out := page.run("Repair old job files on one replica")
	if !strings.Contains(out, "The job files need repair") || !strings.Contains(out, "+ new created") {
		t.Errorf("rota status and rota diff do not show what is wrong:\n%s", out)
	}
	m.must("q1", "rota job new; ! rota job stale")
	l.judge("q1")
	page.close()
}
