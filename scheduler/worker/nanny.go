package worker

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/executor/procs"
)

// startNanny starts the process that kills what this one leaves behind, if there is a command for it. Its last argument
// is the session that the attempts' marks begin with.
func (w *Worker) startNanny() (stop func()) {
	if len(w.cfg.NannyCommand) == 0 {
		return func() {}
	}
	exe, args := w.cfg.NannyCommand[0], w.cfg.NannyCommand[1:]
	stop, err := procs.StartNanny(exe, append(slices.Clone(args), w.life), w.life)
	if err != nil {
		w.log.Error("attempts will outlive this process if it is killed", "err", err)
		return func() {}
	}
	return stop
}
