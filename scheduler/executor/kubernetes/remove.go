package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

const (
	// removeLimit is how long the end of a deleted pod is awaited, beyond the grace of its program.
	removeLimit = 30 * time.Second
	// lastDelete is how much of that is left for the deletion, if it is not certain whether the program has ended.
	lastDelete = 5 * time.Second
	// pollRemoved is the pause between two looks at a deleted Job.
	pollRemoved = 500 * time.Millisecond
	// streamLimit bounds one stream of a watch, because a silent server would hold it for ever.
	streamLimit = 10 * time.Second
)

// delete deletes a Job. It exists until its pod has ended.
func (a *attempt) delete(ctx context.Context, name string) error {
	return a.call(ctx, http.MethodDelete, a.jobs()+"/"+name, map[string]any{"propagationPolicy": "Foreground"}, nil)
}

// remove deletes the Job, and waits until its pod is gone. It does not wait for long if another worker may execute the run. Before
// and after the deletion, it calls see while the program may have ended before it. If see returns an outcome, that counts: the
// API server or the kubelet was away when the program ended. After an outage, a patient remove first waits for what the kubelet
// reports.
func (a *attempt) remove(patient bool, see func(view) *job.Outcome) (*job.Outcome, error) {
	limit := time.Now().Add(a.req.Spec.KillGrace.Std() + removeLimit)
	ctx, cancel := context.WithDeadline(a.patience, limit)
	defer cancel()
	w := a.watch(ctx)
	defer w.stop()
	last, again := errors.New("its pod has not ended"), true
	for ; ctx.Err() == nil; sleep(ctx, pollRemoved) {
		v, err := a.view(ctx)
		unsure := err != nil && a.refused(err) == nil
		if err == nil {
			gone := v.job == nil && (v.pod == nil || v.pod.over()) // a pod may outlive its Job
			if v.pod == nil {
				v.pod = w.pod.Load()
			}
			if !v.endsByDeletion() {
				if o := see(v); o != nil {
					return o, nil
				}
				unsure = a.unreported(v)
			}
			if gone && again && v.pod != nil && !v.pod.over() { // the watch may be about to say how the pod ended
				again = false
				continue
			}
			if gone {
				return nil, nil
			}
		}
		if unsure && patient && time.Until(limit) > lastDelete {
			continue
		}
		if err := a.delete(ctx, a.name); err != nil && !errors.Is(err, kubeapi.ErrNotFound) && ctx.Err() == nil {
			last = err
		}
	}
	return nil, last
}

// endsByDeletion reports whether the Job is being deleted, or gone, and its program did not end before. The answer to a deletion
// may be lost. So the exit decides nothing.
func (v view) endsByDeletion() bool {
	switch {
	case v.job != nil && !v.job.Metadata.deleted():
		return false
	case v.pod == nil:
		return true
	case v.job != nil:
		return !v.pod.endedBefore(v.job.Metadata.deletedAt())
	}
	return !v.pod.endedItself()
}

// unwanted says of each Job that it has not ended.
func unwanted(view) *job.Outcome { return nil }

// watch is what the API server reports about the pods of a Job. Between two looks, a kubelet may report the end of a program and
// remove the pod.
type watch struct {
	pod    atomic.Pointer[pod] // the last state of the youngest pod; nil: unknown
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// watch watches the pods until its end. While the account has no right to it, the watch knows nothing.
func (a *attempt) watch(ctx context.Context) *watch {
	w := &watch{}
	ctx, w.cancel = context.WithCancel(ctx)
	w.wg.Go(func() {
		for ctx.Err() == nil {
			pause := pollRemoved
			if err := w.read(ctx, a.api, a.pods(url.Values{"watch": {"true"}})); a.refused(err) != nil {
				pause = lastPoll
			}
			sleep(ctx, pause)
		}
	})
	return w
}

// read takes the state of pods from one stream until it ends, or for streamLimit.
func (w *watch) read(ctx context.Context, api API, path string) error {
	ctx, cancel := context.WithTimeout(ctx, streamLimit)
	defer cancel()
	stream, err := api.Stream(ctx, path)
	if err != nil {
		return err
	}
	defer stream.Close()
	for d := json.NewDecoder(stream); ; {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := d.Decode(&event); err != nil {
			return err
		}
		p := new(pod)
		if event.Type != "ADDED" && event.Type != "MODIFIED" && event.Type != "DELETED" || json.Unmarshal(event.Object, p) != nil {
			continue
		}
		if known := w.pod.Load(); known == nil || !p.Metadata.CreationTimestamp.Before(known.Metadata.CreationTimestamp) {
			w.pod.Store(p)
		}
	}
}

func (w *watch) stop() {
	w.cancel()
	w.wg.Wait()
}
