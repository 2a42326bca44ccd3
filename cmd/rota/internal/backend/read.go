package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// clusterTimeout bounds the requests of Cluster to etcd. If an answer arrives later, Cluster leaves its part out.
const clusterTimeout = 2 * time.Second

// Cluster returns the state of the cluster. It answers in time even if etcd does not.
func (b *Backend) Cluster(ctx context.Context) (api.ClusterView, error) {
	if err := b.up(); err != nil {
		return api.ClusterView{}, err
	}
	rev, heard := b.mirror.Current()
	gate := b.mirror.Gate()
	v := api.ClusterView{
		Name: b.cfg.Prefix, Node: b.cfg.Node, Version: b.cfg.Version.Version,
		Workers: len(b.mirror.Workers()), Jobs: b.mirror.CountJobs(), Paused: gate.Paused,
		Store:       b.storeView(rev),
		Clocks:      b.clocks.Views(),
		Quarantined: b.quarantined(),
	}
	asking, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		v.Leader = b.leader(asking)
		v.LagSeconds = b.lag(asking, v.Leader)
	})
	wg.Go(func() { v.NotReady = b.notReady(asking) })
	wg.Wait()
	b.addReplicas(&v)
	v.Ready = len(v.NotReady) == 0
	now := b.present()
	v.Runs = runCounts(b.mirror.CountRuns(now))
	v.AgeSeconds = time.Since(heard).Seconds()
	v.Members = b.members(now)
	v.Tolerated = b.tolerated(v.Members, &v.Store, v.Leader != nil)
	v.Attention = b.attention(&v, now)
	return v, nil
}

// quarantined returns the unreadable records, and the jobs with an invalid schedule, which have no slots.
func (b *Backend) quarantined() (list []api.QuarantineView) {
	for _, q := range b.mirror.Quarantine() {
		list = append(list, api.QuarantineView{Key: q.Key, Revision: q.Revision, Error: q.Error})
	}
	invalid := b.scheduler.InvalidSchedules()
	for _, name := range slices.Sorted(maps.Keys(invalid)) {
		if j, ok := b.mirror.Job(name); ok {
			key := b.cfg.Prefix + "/" + string(job.RecordJob) + "/" + name
			list = append(list, api.QuarantineView{Key: key, Revision: j.Rev, Error: invalid[name].Error()})
		}
	}
	return list
}

// notReady returns the reasons why this process is not ready; none if it is ready.
func (b *Backend) notReady(ctx context.Context) (reasons []string) {
	for _, c := range b.health().Ready {
		if err := c.Probe(ctx); err != nil {
			reasons = append(reasons, c.Name+": "+err.Error())
		}
	}
	return reasons
}

// leader returns the leader, nil if there is none or etcd does not answer.
func (b *Backend) leader(ctx context.Context) *api.LeaderView {
	h, ok, err := election.Leader(ctx, b.client, b.store.Keys().Election())
	if err != nil || !ok || h.Candidate.Since.IsZero() { // the first candidate has not confirmed its win
		return nil
	}
	return &api.LeaderView{Node: h.Candidate.Node, Addr: h.Candidate.Addr, Term: h.Term.Rev, Since: h.Candidate.Since}
}

// addReplicas adds the replicas to v. For each it notes how its job files differ from those in force.
func (b *Backend) addReplicas(v *api.ClusterView) {
	files := b.mirror.Files()
	v.Files = api.FilesView{Hash: files.Hash, By: files.By, At: files.At, Agree: true}
	for _, r := range b.mirror.Replicas() {
		v.Replicas = append(v.Replicas, api.ReplicaView{Replica: *r, Leader: v.Leader != nil && v.Leader.Node == r.Name})
		if note := filesNote(r, files); note != "" {
			v.Files.Agree = false
			v.Files.Notes = append(v.Files.Notes, r.Name+": "+note)
		}
	}
}

// filesNote says how a replica's job files differ from those in force; "" if they are the same. It also finds a difference that
// the replica itself has not noticed yet.
func filesNote(r *job.Replica, inForce job.Files) string {
	switch {
	case r.FilesNote != "" || r.FilesHash == "" || r.FilesHash == inForce.Hash:
		return r.FilesNote
	case inForce.Hash == "":
		return "has files, and none are in force"
	}
	return "has other files than those in force, which " + inForce.By + " applied"
}

// storeView returns etcd's members, and how full they are.
func (b *Backend) storeView(rev int64) api.StoreView {
	_, heard := b.mirror.Current()
	v := api.StoreView{Revision: rev, Members: b.endpoints, Unavailable: b.cfg.Space.Unavailable()}
	v.AsOf = b.present().Add(-time.Since(heard)).UTC()
	v.DBSize, v.Quota, v.Full = b.cfg.Space.Fill()
	return v
}

// Jobs returns all jobs.
func (b *Backend) Jobs(context.Context) ([]api.JobView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	jobs := b.mirror.Jobs()
	views := make([]api.JobView, len(jobs))
	for i, j := range jobs {
		views[i] = b.jobView(j)
	}
	return views, nil
}

// Job returns one job.
func (b *Backend) Job(_ context.Context, name string) (api.JobView, error) {
	j, err := b.known(name)
	if err != nil {
		return api.JobView{}, err
	}
	return b.jobView(j), nil
}

// known returns a job from the mirror. It returns an error if there is no mirror yet, no such job, or only an unreadable record.
func (b *Backend) known(name string) (*job.Job, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	if j, ok := b.mirror.Job(name); ok {
		return j, nil
	}
	if err := b.mirror.Unreadable(name); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("job %s: %w", name, job.ErrNotFound)
}

// jobView returns a job with its next slot and its runs.
func (b *Backend) jobView(j *job.Job) api.JobView {
	v := api.JobView{Job: *j, Revision: j.Rev, ScheduleText: words(j)}
	if next, ok := b.nextSlot(j); ok {
		v.Next = &next
	}
	now := b.present()
	var last *job.Run
	// A run may begin between the two calls. Then it is in both.
	ids, waiting := b.mirror.FirstDelayed(j.Name, api.MaxActive)
	active := b.mirror.FirstRuns(j.Name, api.MaxActive, time.Time{}, api.CompareRuns, func(r *job.Run) bool {
		switch {
		case !r.State.Terminal():
			v.ActiveRuns++
			if r.Ahead && r.Due.After(now) && (v.Next == nil || r.Slot.Before(*v.Next)) {
				v.Next = new(r.Slot) // the run is armed ahead: the cursor has passed the slot, which is still to come
			}
			return true
		case last == nil || r.Ended().After(last.Ended()):
			last = r
		}
		return false
	})
	if last != nil {
		v.Last = &api.LastRun{Ref: last.Name(), State: last.State, Finished: last.Finished}
	}
	for _, r := range active {
		v.Active = append(v.Active, r.Name())
	}
	v.ActiveRuns += waiting
	for _, id := range ids {
		switch name := j.Name + "/" + id; {
		case slices.Contains(v.Active, name):
			v.ActiveRuns--
		case len(v.Active) < api.MaxActive:
			v.Active = append(v.Active, name)
		}
	}
	return v
}

// words returns the schedule of a job in words. For a step it names the parents. "" means that the job runs on request.
func words(j *job.Job) string {
	switch {
	case len(j.Spec.After) > 0:
		return "after " + job.ParentsText(j.Spec.After)
	case !j.Spec.Scheduled():
		return ""
	}
	return schedule.Words(schedule.Spec{Cron: j.Spec.Schedule, Every: j.Spec.Every.Std(), At: j.Spec.At, Timezone: j.Spec.Timezone})
}

// nextSlot returns the next slot that the leader decides, as if the job were not paused. It returns false if there is none.
func (b *Backend) nextSlot(j *job.Job) (time.Time, bool) {
	when, err := policy.When(j.Name, j.Spec)
	if err != nil || when == nil {
		return time.Time{}, false
	}
	gate := b.mirror.Gate()
	c, _ := b.mirror.Cursor(j.Name)
	return policy.NextSlot(j, when, c, &gate)
}

// Run returns one run from the store. It has the fields that the mirror does not keep.
func (b *Backend) Run(ctx context.Context, jobName, id string) (api.RunView, error) {
	if err := b.up(); err != nil {
		return api.RunView{}, err
	}
	r, err := b.store.Run(ctx, jobName, id)
	if err != nil {
		return api.RunView{}, storeError(err)
	}
	v := api.NewRunView(r)
	v.CopyRuns = b.viewCopies(&r)
	return v, nil
}

// Workers returns all workers.
func (b *Backend) Workers(context.Context) ([]api.WorkerView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	running, armed := map[string]int{}, map[string]int{}
	taken, now := map[string]int{}, b.present()
	for _, r := range b.mirror.RunsDue(time.Time{}, atWorker) {
		switch r.State {
		case job.Running:
			running[r.Worker]++
			taken[r.Worker]++
		case job.Armed:
			armed[r.Worker]++
			if !r.Due.After(now) { // a run that is armed ahead does not use capacity yet
				taken[r.Worker]++
			}
		}
	}
	var views []api.WorkerView
	for _, w := range b.mirror.Workers() {
		v := api.NewWorkerView(*w)
		v.Running, v.Armed = running[w.Name], armed[w.Name]
		if !w.AcceptsNone() {
			v.Free = max(0, w.Capacity-taken[w.Name])
		}
		views = append(views, v)
	}
	return views, nil
}

// atWorker reports whether a run is at a worker.
func atWorker(r *job.Run) bool { return r.State == job.Armed || r.State == job.Running }

// Limits returns all limits.
func (b *Backend) Limits(context.Context) ([]api.LimitView, error) {
	if err := b.up(); err != nil {
		return nil, err
	}
	held := map[string]int{}
	for _, r := range b.mirror.RunsDue(time.Time{}, atWorker) {
		for _, name := range r.Limits {
			held[name]++
		}
	}
	var views []api.LimitView
	for _, l := range b.mirror.Limits() {
		views = append(views, api.LimitView{Limit: *l, Revision: l.Rev, Held: held[l.Name]})
	}
	return views, nil
}

// current reads a job from the store; nil if there is none.
func (b *Backend) current(ctx context.Context, name string) (*job.Job, error) {
	j, err := b.store.Job(ctx, name)
	if errors.Is(err, job.ErrNotFound) {
		return nil, nil
	}
	return &j, storeError(err)
}
