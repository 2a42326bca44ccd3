package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/rota-scheduler/rota/scheduler/worker"
)

// pressure has the metrics of the pressure of this machine.
type pressure struct {
	ratio   *prometheus.GaugeVec // by resource
	tooHigh prometheus.Gauge
}

func newPressure(to promauto.Factory) pressure {
	return pressure{
		ratio: to.NewGaugeVec(prometheus.GaugeOpts{
			Name: "rota_worker_pressure_ratio", Help: "Share of the time in which work on this machine waited for memory or a CPU.",
		}, []string{"resource"}),
		tooHigh: to.NewGauge(prometheus.GaugeOpts{
			Name: "rota_worker_pressure_high", Help: "1 while the worker takes no runs because of the pressure.",
		}),
	}
}

// Pressure sets the pressure of this machine, and whether the worker takes no runs because of it.
func (m *Metrics) Pressure(p worker.Pressure, tooHigh bool) {
	m.pressure.ratio.WithLabelValues("memory").Set(p.Memory / 100)
	m.pressure.ratio.WithLabelValues("cpu").Set(p.CPU / 100)
	m.pressure.tooHigh.Set(oneIf(tooHigh))
}
