package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// adopt finds the containers of the run on this engine. It returns the container of this attempt or of a lost attempt, if its work
// has begun and no worker decided to end it. It removes all others. nil: there is none to adopt.
func (e *Executor) adopt(ctx context.Context, req *executor.Request, out io.Writer) (adopted *state, err error) {
	var found []listed
	err = persist(ctx, e.firstPatience(&req.Run), func() error {
		found, err = e.engine.list(ctx, labelCluster+"="+e.cfg.Cluster, labelRun+"="+req.Run.Name())
		return unsure(err)
	})
	if err != nil {
		return nil, fmt.Errorf("list containers of the run: %w", err)
	}
	for _, l := range found {
		var s state
		err := e.patiently(ctx, func() error { s, err = e.engine.inspect(ctx, l.ID); return unsure(err) })
		if hasStatus(err, http.StatusNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("inspect container %s: %w", l.name(), err)
		}
		taken := false
		if adopted == nil && e.adoptable(req, &s) {
			if taken, err = e.take(ctx, req, &s); err != nil {
				return nil, err
			}
		}
		if taken {
			fmt.Fprintf(out, "[rota: follows the container that worker %s started in attempt %s]\n",
				s.Config.Labels[labelWorker], s.Config.Labels[labelAttempt])
			adopted = &s
			continue
		}
		if err := e.removed(ctx, l.ID); err != nil {
			return nil, fmt.Errorf("remove container %s of an earlier attempt: %w", l.name(), err)
		}
	}
	return adopted, nil
}

// adoptable reports whether the attempt may continue with a container.
func (e *Executor) adoptable(req *executor.Request, s *state) bool {
	attempt, ok := owner(e.cfg.Cluster, req.Run.Name(), s.Name)
	if !ok || !s.began() || !s.State.Running && s.State.ExitCode >= executor.ExitSignal {
		return false
	}
	if attempt == req.Run.Attempt {
		return s.Config.Labels[labelToken] == strconv.FormatInt(req.Run.Token, 10)
	}
	return lost(&req.Run, attempt)
}

// lost reports whether a run's attempt is recorded as lost.
func lost(run *job.Run, attempt int) bool {
	for _, a := range run.Attempts {
		if a.Number == attempt {
			return a.State == job.Lost
		}
	}
	return false
}

// take gives a container the name of this attempt, so that nobody takes it for a leftover. It returns false if the container has
// another name by now: the worker of the earlier attempt was paused, and ends it.
func (e *Executor) take(ctx context.Context, req *executor.Request, s *state) (bool, error) {
	name := nameOf(e.cfg.Cluster, &req.Run)
	if s.Name == name {
		return true, nil
	}
	err := e.patiently(ctx, func() error {
		err := e.engine.rename(ctx, s.Name, name)
		if !hasStatus(err, http.StatusNotFound) {
			return unsure(err)
		}
		// An earlier call, whose answer was lost, may have given it the new name.
		now, seen := e.engine.inspect(ctx, s.ID)
		if seen == nil && now.Name == name {
			return nil
		}
		return cmp.Or(unsure(seen), err)
	})
	switch {
	case hasStatus(err, http.StatusNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("adopt container %s: %w", s.Name, err)
	}
	s.Name = name
	return true, nil
}

// begin creates and starts the container of the attempt. If a call fails without an answer, it finds out what the call did.
func (e *Executor) begin(ctx context.Context, req *executor.Request, body *creation) (*state, error) {
	if err := e.provide(ctx, req.Spec.Container); err != nil {
		return nil, err
	}
	name, id := nameOf(e.cfg.Cluster, &req.Run), ""
	err := e.patiently(ctx, func() (err error) {
		id, err = e.engine.create(ctx, name, body)
		if hasStatus(err, http.StatusConflict) { // by an earlier call whose answer was lost
			s, seen := e.engine.inspect(ctx, name)
			if seen != nil {
				return seen
			}
			if s.Config.Labels[labelToken] == body.Labels[labelToken] && s.Config.Labels[labelCluster] == e.cfg.Cluster {
				id, err = s.ID, nil
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create container: %w", err)
	}
	if err := e.patiently(ctx, func() error { return e.engine.putOutputFile(ctx, id) }); err != nil {
		return nil, errors.Join(err, e.removed(ctx, id))
	}
	s, err := e.start(ctx, id, name)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, e.removed(ctx, id))
	}
	return s, err
}

// start starts a container. If the engine gives no definite answer, the container may do its work. Then start asks until the engine
// tells, or until ctx ends. It starts the container again only if that has not begun: a short program may have ended. After
// e.patience it removes a container that has not begun, since the first request may still start it. Only when that is done, the
// attempt has not begun.
func (e *Executor) start(ctx context.Context, id, name string) (*state, error) {
	asked := time.Now()
	for lost, over := false, false; ; {
		answer := e.engine.start(ctx, id)
		if answer == nil {
			s := &state{ID: id, Name: name}
			s.State.StartedAt = e.now()
			return s, nil
		}
		if refused(unsure(answer)) {
			return nil, &startError{answer}
		}
		lost = lost || !refused(answer)
		for {
			s, err := e.engine.inspect(ctx, id)
			switch {
			case err == nil && s.began():
				s.engineLost = lost && !s.State.Running
				return &s, nil
			case refused(unsure(err)): // the container does not exist
				return nil, &startError{err}
			case err == nil && refused(answer):
				return nil, &startError{answer}
			case err == nil && time.Since(asked) > e.patience:
				over = true
				switch gone := e.engine.remove(ctx, id); {
				case gone == nil:
					return nil, absentError{answer}
				case refused(unsure(gone)) && !hasStatus(gone, http.StatusConflict): // 409: a removal is under way
					return nil, &startError{absentError{errors.Join(answer, gone)}}
				}
			}
			if ended := sleep(ctx, pollPause); ended != nil {
				return nil, &startError{ended}
			}
			if err == nil && !over {
				break
			}
		}
	}
}

// provide makes the engine have the image.
func (e *Executor) provide(ctx context.Context, c *job.Container) error {
	if c.Pull != job.PullAlways {
		has := false
		err := e.patiently(ctx, func() (err error) { has, err = e.engine.hasImage(ctx, c.Image); return unsure(err) })
		switch {
		case err != nil:
			return fmt.Errorf("find image %s: %w", c.Image, err)
		case has:
			return nil
		case c.Pull == job.PullNever:
			return fmt.Errorf("image %s is not on the engine, and container.pull is never", c.Image)
		}
	}
	if err := e.patiently(ctx, func() error { return e.engine.pull(ctx, c.Image) }); err != nil {
		return fmt.Errorf("pull image %s: %w", c.Image, err)
	}
	return nil
}
