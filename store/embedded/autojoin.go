package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

// foreignPatience is how long a running cluster may have a member that the settings do not list. After that, the settings
// are wrong.
const foreignPatience = 30 * time.Second

// answer is the reply of one other member to a member without data.
type answer struct {
	fresh   bool                 // it has no data either, and has never been in a cluster
	cluster string               // the ID of its cluster
	members []*membership.Member // the members of its cluster
	err     error                // it gave no answer
}

// startKind is what a member without data does next, if Config.Rejoin is set.
type startKind int

const (
	startLater startKind = iota // ask again
	startNew                    // form a new cluster with the others
	startJoin                   // join the running cluster of the others
)

// chooseStart decides how the member with the peer URL self starts. It forms a new cluster only if every other member says
// that it also starts for the first time. So members that lost their data never form a second cluster beside one that they
// cannot reach. cluster is the ID of the cluster that the settings form: a cluster with another ID was restored from a backup, and
// this member can only join it. seen says that this process has reported to all others that it has no data.
func chooseStart(self, cluster string, answers []answer, known, seen bool) startKind {
	first, serving := 0, false
	for _, a := range answers {
		if a.fresh {
			first++
			continue
		}
		for _, m := range a.members {
			if !slices.Contains(m.PeerURLs, self) {
				serving = serving || len(m.ClientURLs) > 0
			} else if m.Name != "" && !m.IsLearner && len(m.ClientURLs) == 0 && a.cluster == cluster {
				first++ // the others wait for the first start of this member
			}
		}
	}
	switch {
	case first == len(answers) && !known && (seen || !serving):
		return startNew
	case serving:
		// If this process has not told all others that it has no data, an earlier process may have taken part in the cluster.
		// Then its vote must not be used again.
		return startJoin
	}
	return startLater
}

// join prepares the start of a member without data. It waits until the member may form a new cluster, or has been added to the
// running one as a learner. In the second case it sets the members in e.
func (s *Server) join(ctx context.Context, e *embed.Config) error {
	var lit *beacon
	known := s.cfg.KnownBy != ""
	if !known {
		var err error
		if lit, err = newBeacon(e); err != nil {
			return err
		}
		defer lit.close()
	}
	self, cluster, others := e.AdvertisePeerUrls[0].String(), s.cfg.formedID(), s.cfg.others()
	var stranger time.Time // since when the cluster has had a member that is not listed
	for logged := time.Now(); ; {
		answers := s.askOthers(ctx, others)
		var reason error
		switch chooseStart(self, cluster, answers, known, lit.answered(others)) {
		case startNew:
			return nil
		case startJoin:
			list, err := s.enroll(ctx, self, answers)
			if err == nil {
				e.InitialCluster, e.ClusterState = list, embed.ClusterStateFlagExisting
				return s.awaitListed(ctx, self, others)
			}
			reason = err
		default:
			reason = s.whyLater(others, answers)
		}
		if !errors.Is(reason, ErrMembers) {
			stranger = time.Time{}
		} else if stranger.IsZero() {
			stranger = time.Now()
		} else if time.Since(stranger) > foreignPatience {
			return fmt.Errorf("%w; %s", reason, otherMembers)
		}
		if time.Since(logged) > 5*patience {
			logged = time.Now()
			s.log.Warn("this member has no data, and waits until it may join", "node", s.cfg.Name, "reason", reason)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait to join (%w): %w", reason, context.Cause(ctx))
		case <-time.After(queryInterval):
		}
	}
}

// whyLater says why a member without data can neither form a cluster nor join one.
func (s *Server) whyLater(others []peer, answers []answer) error {
	var silent []string
	for i, a := range answers {
		if a.err != nil {
			silent = append(silent, fmt.Sprintf("%s: %v", others[i].name, a.err))
		}
	}
	why := strings.Join(silent, "; ")
	if slices.ContainsFunc(answers, func(a answer) bool { return len(a.members) > 0 }) {
		if why != "" {
			why = " (" + why + ")"
		}
		return errors.New("the other members have a cluster, and do not serve it yet" + why)
	}
	if s.cfg.KnownBy != "" {
		return fmt.Errorf("%s knows an earlier cluster, of which nobody answers (%s); remove it on every replica to begin a new one",
			s.cfg.KnownBy, why)
	}
	return fmt.Errorf("a new cluster begins only if all of its members answer (%s)", why)
}

// askOthers asks all other members once. It reads the certificates each time, because their files may be replaced.
func (s *Server) askOthers(ctx context.Context, others []peer) []answer {
	answers := make([]answer, len(others))
	rt, err := s.cfg.peerTransport()
	if err != nil {
		for i := range answers {
			answers[i].err = err
		}
		return answers
	}
	defer rt.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var wg sync.WaitGroup
	for i, p := range others {
		wg.Go(func() { answers[i] = askMember(ctx, rt, p.url, s.cfg.Name) })
	}
	wg.Wait()
	return answers
}

// awaitListed waits until every member that answers lists this one. etcd reads the members from the first that answers, and
// refuses to start if that one does not list the new member yet.
func (s *Server) awaitListed(ctx context.Context, self string, others []peer) error {
	lists := func(a answer) bool {
		return a.members == nil ||
			slices.ContainsFunc(a.members, func(m *membership.Member) bool { return slices.Contains(m.PeerURLs, self) && m.Name == "" })
	}
	for began := time.Now(); ; {
		answers := s.askOthers(ctx, others)
		if !slices.ContainsFunc(answers, func(a answer) bool { return !lists(a) }) {
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Since(began) > silencePatience:
			return errors.New("the other members do not learn that this one was added; start it again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(queryInterval / 5):
		}
	}
}

// setAside renames the data of a removed member, so that the member can join again. It replaces the data that it set aside
// before.
func setAside(dir string) error {
	old := filepath.Join(dir, "removed")
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("remove old data of a removed member: %w", err)
	}
	if err := os.Rename(filepath.Join(dir, "member"), old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("set the data of a removed member aside: %w", err)
	}
	return nil
}
