package executor

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Preparer is an Executor that can do a part of an attempt before its time. The job must not notice that part.
type Preparer interface {
	// Prepare returns what can be done before the time of an attempt of spec; nil: nothing. It does not block.
	Prepare(spec *job.Spec) Prepared
}

// Prepared is the part of one attempt that is done before its time. It is safe for concurrent use.
type Prepared interface {
	// Do does the part. It returns soon after ctx has ended or Close was called. It is called at most once, even after Close.
	Do(ctx context.Context)
	// Close releases what the attempt has not used.
	Close()
}

// Prepare asks the executor of the kind of spec.
func (s *Set) Prepare(spec *job.Spec) Prepared {
	if p, ok := s.kinds[spec.Kind()].(Preparer); ok {
		return p.Prepare(spec)
	}
	return nil
}

// Checker is an Executor whose attempts need a service, such as a container engine.
type Checker interface {
	// Check returns nil if the service answers. It returns soon after ctx ends.
	Check(ctx context.Context) error
}

// Check returns why attempts of a kind cannot start now; nil if they can, as far as is known.
func (s *Set) Check(ctx context.Context, kind string) error {
	if c, ok := s.kinds[kind].(Checker); ok {
		return c.Check(ctx)
	}
	return nil
}
