package metrics

import "github.com/rota-scheduler/rota/scheduler/notify/send"

// Notified counts n notices to a notifier with the same outcome. The series of its failures begin at 0, because Prometheus computes
// no increase for a series that begins at 1.
func (m *Metrics) Notified(notifier, outcome string, n int) {
	for _, failure := range []string{send.Repeated, send.Failed} {
		m.notified.WithLabelValues(notifier, failure)
	}
	m.notified.WithLabelValues(notifier, outcome).Add(float64(n))
}
