package checkup

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Source says where the facts about a cluster are.
type Source struct {
	Etcd     config.Etcd       // its endpoints are the members that are asked
	Own      []tls.Certificate // as in servesTLS
	Settings *config.Settings  // of this machine; nil: the machine is not examined
	// Records reads the records of the store into f. Its error becomes a fact.
	Records func(ctx context.Context, f *doctor.Facts) error
	// Ask asks a replica about the cluster. url is its address with the scheme that it serves.
	Ask func(ctx context.Context, r *job.Replica, url string) doctor.Answer
}

// Gather gathers the facts. It returns what it has when ctx ends.
func Gather(ctx context.Context, now time.Time, s Source) doctor.Facts {
	f := doctor.Facts{Now: now}
	var members sync.WaitGroup // beside the rest, since a process that hangs costs the whole timeout of each question
	members.Go(func() { f.Members = askMembers(ctx, s.Etcd) })
	if s.Settings != nil {
		members.Go(func() { f.Peers = askPeers(ctx, s.Settings.Etcd.Embedded) })
	}
	f.StoreErr = s.Records(ctx, &f)
	askReplicas(ctx, s, &f)
	members.Wait()
	if n := countOnlyWorkers(&f); n > 0 {
		f.Unseen = append(f.Unseen, fmt.Sprintf("%s: those of workers that are no replicas (%d)", doctor.AreaCertificates, n))
	}
	if s.Settings != nil {
		f.Served, f.Broken = append(f.Served, certificates(s.Settings)...), broken(s.Settings)
		f.Machine = examineMachine(s.Settings, f.Replicas, f.Workers)
	}
	return f
}

// askReplicas asks all replicas in f about the cluster, and all servers for their certificates.
func askReplicas(ctx context.Context, s Source, f *doctor.Facts) {
	urls := append(slices.Clone(s.Etcd.Endpoints), make([]string, len(f.Replicas))...)
	f.Answers = make([]doctor.Answer, len(f.Replicas))
	var all sync.WaitGroup
	for i, r := range f.Replicas {
		all.Go(func() {
			at := "http://" + r.Addr
			if _, secure := servesTLS(ctx, r.Addr, s.Own); secure {
				at = "https://" + r.Addr
			}
			urls[len(s.Etcd.Endpoints)+i] = at
			f.Answers[i] = s.Ask(ctx, r, at)
		})
	}
	all.Wait()
	f.Served = served(ctx, urls, s.Own)
}

// countOnlyWorkers counts the workers that are no replicas.
func countOnlyWorkers(f *doctor.Facts) (n int) {
	for _, w := range f.Workers {
		if !slices.ContainsFunc(f.Replicas, func(r *job.Replica) bool { return r.Name == w.Name }) {
			n++
		}
	}
	return n
}
