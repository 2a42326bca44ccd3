package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

var tokenExpiry = prometheus.NewDesc("rota_auth_token_expiry_seconds",
	"How long the token of the store that expires first is still valid; absent if no token expires. Expired tokens do not count.",
	nil, nil)

// tokens is the metric rota_auth_token_expiry_seconds. It has no labels, because ids and principals are for administrators.
type tokens struct {
	all func() []auth.Token
	now func() time.Time
}

// Describe sends the description of the metric.
func (tokens) Describe(ch chan<- *prometheus.Desc) { ch <- tokenExpiry }

// Collect sends the metric.
func (t tokens) Collect(ch chan<- prometheus.Metric) {
	var left time.Duration
	found := false
	now := t.now()
	for _, token := range t.all() {
		if !token.Expires.IsZero() && !token.Expired(now) && (!found || token.Expires.Sub(now) < left) {
			left, found = token.Expires.Sub(now), true
		}
	}
	if found {
		ch <- prometheus.MustNewConstMetric(tokenExpiry, prometheus.GaugeValue, left.Seconds())
	}
}
