package runbooks

import "testing"

// TestUpgradeAndGoBack replaces all binaries under load, one at a time, and goes back. test/cluster does the same with version
// 0.1.0.
func TestUpgradeAndGoBack(t *testing.T) {
	begin(t)
	m, l := startReplicas(t, 3, "", "")
	page := m.open("upgrade.md")
	hosts := []string{"q1", "q2", "q3"}
	for _, host := range hosts {
		// A byte after its end makes another file of a program, which works in the same way.
		m.must(host, "cp /usr/local/bin/rota rota-new; echo >>rota-new")
	}
	page.run("Upgrade")
	for _, host := range hosts {
		m.must(host, "cmp /usr/local/bin/rota rota-new; cmp -s rota-new rota-old && exit 1; cmp /proc/$(pgrep -P $(cat /var/log/rota.pid) | head -n 1)/exe rota-new")
	}
	page.run("Go back")
	for _, host := range hosts {
		m.must(host, "cmp /proc/$(pgrep -P $(cat /var/log/rota.pid) | head -n 1)/exe rota-old")
	}
	l.judge("q1")
	page.close()
}
