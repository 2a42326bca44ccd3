package worker

import (
	"fmt"
	"time"
)

// Pressure has the load of a machine, in percent: how much of the time work waits for memory, or for a CPU.
type Pressure struct{ Memory, CPU float64 }

// pressureEvery is the interval between readings of the pressure. The kernel's averages change every two seconds.
const pressureEvery = 2 * time.Second

// resources that a machine can run short of, in the order in which they are named.
const (
	memory = "memory"
	cpu    = "CPU"
)

// exceeded returns the resource for which a machine under the pressure p accepts no runs; "" if there is none. The result of the
// last call is before: its resource must fall below half of its limit. limits has zeros for resources without a limit.
func exceeded(limits, p Pressure, before string) string {
	high := func(resource string, percent, limit float64) bool {
		if before == resource {
			limit /= 2
		}
		return limit > 0 && percent >= limit
	}
	switch {
	case high(memory, p.Memory, limits.Memory):
		return memory
	case high(cpu, p.CPU, limits.CPU):
		return cpu
	}
	return ""
}

// checkPressure reads the pressure, and decides whether the worker accepts runs under it.
func (w *Worker) checkPressure() {
	limits := w.cfg.PressureLimits
	if w.cfg.Pressure == nil || limits == (Pressure{}) {
		return
	}
	p := w.cfg.Pressure()
	w.mu.Lock()
	before := w.pressed
	w.pressed = exceeded(limits, p, before)
	now := w.pressed
	switch {
	case now == before:
	case now == memory:
		w.pressureText = fmt.Sprintf("memory pressure %.0f %%, limit %.0f %%", p.Memory, limits.Memory)
	case now == cpu:
		w.pressureText = fmt.Sprintf("CPU pressure %.0f %%, limit %.0f %%", p.CPU, limits.CPU)
	default:
		w.pressureText = ""
	}
	w.mu.Unlock()
	w.cfg.Observer.Pressure(p, now != "")
	switch {
	case now != "" && now != before:
		w.log.Warn("worker accepts no runs, since its machine is under pressure", "resource", now, "memory", p.Memory, "cpu", p.CPU)
	case now == "" && before != "":
		w.log.Info("the pressure has fallen, and the worker accepts runs", "memory", p.Memory, "cpu", p.CPU)
	}
}

// watchPressure checks the pressure during the shift. When the result changes, it publishes the presence.
func (s *shift) watchPressure() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(pressureEvery):
		}
		s.w.checkPressure()
		s.publishPresence()
	}
}
