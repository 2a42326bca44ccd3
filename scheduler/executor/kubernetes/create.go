package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// create makes sure that the Job exists and runs. It tries until the API server gives a definite answer or ctx ends. It returns
// unresolved itself if this machine has no descriptor for a reference: then nothing has begun.
func (a *attempt) create(ctx context.Context, plain, secret map[string]string, unresolved error) error {
	if a.req.Run.PodGeneration() > 0 {
		if err := a.persist(ctx, a.removeEarlier); err != nil {
			return err
		}
	}
	found := &batchJob{}
	err := a.persist(ctx, func(ctx context.Context) error { return a.find(ctx, found) })
	if errors.Is(err, kubeapi.ErrNotFound) {
		if orphaned, err := a.orphaned(ctx); err != nil || orphaned {
			return err
		}
		if executor.NoDescriptor(unresolved) {
			return unresolved
		}
		if unresolved != nil {
			var refused *refs.RefusedError
			return &refusal{text: unresolved.Error(), final: errors.As(unresolved, &refused)}
		}
		err = a.persist(ctx, func(ctx context.Context) error { return a.post(ctx, plain, secret, found) })
		if errors.Is(err, kubeapi.ErrNotFound) {
			err = &refusal{text: fmt.Sprintf("namespace %s does not exist", a.namespace)}
		}
	}
	if err != nil {
		return err
	}
	if own := found.Metadata.Annotations[tokenAnnotation]; own != fmt.Sprint(a.req.Run.Token) {
		a.note("adopted %s of attempt %s, whose fencing token is %s", a.label(), found.Metadata.Annotations[attemptAnnotation], own)
	}
	if !found.Spec.Suspend || unresolved == nil && len(secret) == 0 { // without a Secret, somebody else has suspended it
		return nil
	}
	if unresolved != nil {
		_, _ = a.remove(false, unwanted) // without its Secret it would wait for ever
		if executor.NoDescriptor(unresolved) {
			return unresolved
		}
		return &refusal{text: unresolved.Error()}
	}
	err = a.persist(ctx, func(ctx context.Context) error { return a.release(ctx, found, secret) })
	if errors.Is(err, kubeapi.ErrNotFound) {
		return nil // somebody has deleted the Job, which await reports
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		_, _ = a.remove(false, unwanted)
	}
	return err
}

// orphaned reports whether an earlier attempt left a pod whose Job somebody has deleted. Such a pod ends later than the Job, or
// continues if the Job was deleted with --cascade=orphan. Another Job would execute the run beside it.
func (a *attempt) orphaned(ctx context.Context) (bool, error) {
	if a.first() {
		return false, nil
	}
	var v view
	err := a.persist(ctx, func(ctx context.Context) (err error) { v, err = a.view(ctx); return err })
	if v.pod == nil {
		return false, err
	}
	a.note("adopted pod %s, whose %s was deleted", v.pod.Metadata.Name, a.label())
	return true, err
}

// find reads the Job. A Job that is being deleted counts as an error that passes.
func (a *attempt) find(ctx context.Context, found *batchJob) error {
	*found = batchJob{}
	err := a.call(ctx, http.MethodGet, a.jobs()+"/"+a.name, nil, found)
	a.located = a.located || err == nil || errors.Is(err, kubeapi.ErrNotFound)
	if err == nil && found.Metadata.deleted() {
		return fmt.Errorf("%s is being deleted", a.label())
	}
	return err
}

// post creates the Job. If another request was faster, such as one whose answer was lost, it reads that Job.
func (a *attempt) post(ctx context.Context, plain, secret map[string]string, created *batchJob) error {
	m, err := manifest(a.req, plain, secret)
	if err != nil {
		return &refusal{text: err.Error(), final: true}
	}
	err = a.call(ctx, http.MethodPost, a.jobs(), m, created)
	if !errors.Is(err, kubeapi.ErrConflict) {
		return err
	}
	if err := a.find(ctx, created); err != nil {
		//nolint:errorlint // no ErrNotFound, which the caller would take for its own: the next try creates the Job
		return fmt.Errorf("read %s, which exists: %v", a.label(), err)
	}
	return nil
}

// release creates the Secret of a suspended Job, and lets the Job begin. The Secret is deleted with the Job.
func (a *attempt) release(ctx context.Context, owner *batchJob, secret map[string]string) error {
	err := a.call(ctx, http.MethodPost, a.objects()+"/secrets", map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "stringData": secret,
		"metadata": map[string]any{
			"name": a.name, "labels": map[string]any{managedLabel: "rota", runLabel: a.req.Run.PodHash()},
			"ownerReferences": []any{map[string]any{
				"apiVersion": "batch/v1", "kind": "Job", "name": a.name, "uid": owner.Metadata.UID, "controller": true,
			}},
		},
	}, nil)
	if err != nil && !errors.Is(err, kubeapi.ErrConflict) {
		return err
	}
	begin := map[string]any{"spec": map[string]any{"suspend": false}}
	return a.call(ctx, http.MethodPatch, a.jobs()+"/"+a.name, begin, nil)
}

// removeEarlier deletes the unfinished Jobs of earlier attempts, such as one that the leader gave up after its timeout. It returns
// an error until they are gone, and so is each pod whose Job somebody has deleted.
func (a *attempt) removeEarlier(ctx context.Context) error {
	query := url.Values{"labelSelector": {runLabel + "=" + a.req.Run.PodHash()}}
	owners := map[string]bool{a.name: true}
	err := a.eachJob(ctx, query, func(j *batchJob) error {
		owners[j.Metadata.Name] = true
		if j.Metadata.Name == a.name || j.ended() {
			return nil
		}
		if err := a.delete(ctx, j.Metadata.Name); err != nil && !errors.Is(err, kubeapi.ErrNotFound) {
			return err
		}
		return fmt.Errorf("Job %s of an earlier attempt has not ended", j.Metadata.Name) //nolint:staticcheck // the name of a kind
	})
	var pods podList
	if err == nil {
		err = a.call(ctx, http.MethodGet, a.objects()+"/pods?"+query.Encode(), nil, &pods)
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; !owners[p.Metadata.Labels[jobLabel]] && !p.over() {
			err = fmt.Errorf("pod %s of an earlier attempt has not ended, and its Job was deleted", p.Metadata.Name)
		}
	}
	return err
}
