package httpx

import (
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/fill"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
)

// filler fills in the texts of one attempt.
type filler struct{ fill.Filler }

func newFiller(req *executor.Request, resolver *refs.Resolver) filler {
	return filler{fill.Filler{
		Fields: fill.Fields{
			Job: req.Run.Job, Run: req.Run.Name(), Slot: fill.Instant{Time: req.Run.Slot.UTC()}, Attempt: req.Run.Attempt,
			Token: req.Run.Token, Key: req.Run.IdempotencyKey(), Deadline: fill.Instant{Time: req.Deadline.UTC()},
		},
		Resolve: resolver.Resolve,
	}}
}
