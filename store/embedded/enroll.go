package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// changeTimeout bounds one change of the members.
const changeTimeout = 5 * time.Second

// roster is the cluster in the view of its majority.
type roster struct {
	members []*pb.Member
	healthy map[uint64]bool // the members that answer requests which need a majority
}

// admission is what makes a member without data part of a running cluster.
type admission struct {
	remove uint64 // the member to remove first, with the same peer URL or name; 0: none
	add    bool   // add the member; false: it is in the list, and has never started
}

// admit decides whether the member self may join. It returns an error if the majority would depend on members that do not
// answer, or if another process serves under its name or at its URL.
func (r roster) admit(self peer, listed []peer) (admission, error) {
	voters, healthy, own := 0, 0, (*pb.Member)(nil)
	var twins, learners, unlisted []string
	for _, m := range r.members {
		mine := m.Name == self.name || isAt(m.PeerURLs, self)
		if mine {
			own = m
		}
		if mine && r.healthy[m.ID] {
			twins = append(twins, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.PeerURLs, " ")))
		}
		switch {
		case m.IsLearner && !mine:
			learners = append(learners, m.Name)
		case !m.IsLearner:
			voters++
			if r.healthy[m.ID] && !mine {
				healthy++
			}
		}
		if !slices.ContainsFunc(listed, func(p peer) bool { return isAt(m.PeerURLs, p) }) {
			unlisted = append(unlisted, fmt.Sprintf("%s (%s)", m.Name, strings.Join(m.PeerURLs, " ")))
		}
	}
	switch majority := voters/2 + 1; {
	case len(twins) > 0:
		return admission{}, fmt.Errorf("another process serves as member %s: stop it first, or correct node.name and etcd.embedded.peer",
			strings.Join(twins, ", "))
	case own == nil && len(unlisted) > 0:
		return admission{}, fmt.Errorf("etcd.embedded.cluster does not list the member %s of the running cluster: %w",
			strings.Join(unlisted, ", "), ErrMembers)
	case healthy < majority:
		return admission{}, fmt.Errorf("%d of the other members answer, and %d of %d must", healthy, majority, voters)
	case len(learners) > 0:
		return admission{}, fmt.Errorf("%s joins at present; members join one at a time", strings.Join(learners, ", "))
	case own == nil:
		return admission{add: true}, nil
	case own.Name == "" && own.IsLearner && slices.Contains(own.PeerURLs, self.url):
		return admission{}, nil
	}
	return admission{remove: own.ID, add: true}, nil
}

// enroll makes this member, which has no data, a learner of the cluster of the others. First it removes the member that had its
// name. It returns the members of the cluster as etcd's initial cluster.
func (s *Server) enroll(ctx context.Context, self string, answers []answer) (list string, err error) {
	endpoints, cluster, err := agree(self, answers)
	if err != nil {
		return "", err
	}
	client, err := s.dialMembers(endpoints)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	r, err := s.readRoster(ctx, client, cluster)
	if err != nil {
		return "", err
	}
	peers, _ := s.cfg.peers() // Validate reports a bad list
	a, err := r.admit(peer{s.cfg.Name, self}, peers)
	if err != nil {
		return "", err
	}
	try, cancel := context.WithTimeout(ctx, 2*changeTimeout)
	defer cancel()
	if a.remove != 0 {
		if _, err := client.MemberRemove(try, a.remove); err != nil {
			return "", fmt.Errorf("remove the lost member %x: %w", a.remove, err)
		}
		s.log.Warn("the lost member was removed from the cluster", "node", s.cfg.Name, "member", strconv.FormatUint(a.remove, 16))
	}
	members := r.members
	if a.add {
		resp, err := client.MemberAddAsLearner(try, []string{self})
		if err != nil {
			return "", fmt.Errorf("add this member: %w", err)
		}
		members = resp.Members
		s.log.Info("this member was added to the cluster", "node", s.cfg.Name, "member", strconv.FormatUint(resp.Member.ID, 16))
	}
	return initialCluster(s.cfg.Name, self, members), nil
}

// agree returns the client URLs of the other members and the ID of their cluster. It returns an error unless all answers name the
// same cluster.
func agree(self string, answers []answer) (endpoints []string, cluster uint64, err error) {
	found, urls := map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		if a.members == nil {
			continue
		}
		found[a.cluster] = true
		for _, m := range a.members {
			if !slices.Contains(m.PeerURLs, self) {
				for _, u := range m.ClientURLs {
					urls[u] = true
				}
			}
		}
	}
	ids := slices.Sorted(maps.Keys(found))
	if len(ids) != 1 {
		return nil, 0, fmt.Errorf("the other members are in different clusters (%s): %w", strings.Join(ids, ", "), ErrMembers)
	}
	if cluster, err = strconv.ParseUint(ids[0], 16, 64); err != nil {
		return nil, 0, fmt.Errorf("the ID of the cluster is %q", ids[0])
	}
	return slices.Sorted(maps.Keys(urls)), cluster, nil
}

// readRoster asks the majority for the members, and each member whether it takes part in the majority.
func (s *Server) readRoster(ctx context.Context, client *clientv3.Client, cluster uint64) (roster, error) {
	try, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	resp, err := client.MemberList(try)
	if err != nil {
		return roster{}, fmt.Errorf("ask the majority for the members: %w", err)
	}
	if resp.Header.ClusterId != cluster {
		return roster{}, fmt.Errorf("the majority is cluster %x, and its peers say %x: %w", resp.Header.ClusterId, cluster, ErrMembers)
	}
	r := roster{members: resp.Members, healthy: map[uint64]bool{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, m := range resp.Members {
		wg.Go(func() {
			if len(m.ClientURLs) == 0 || !s.isHealthy(try, m.ClientURLs, m.ID) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			r.healthy[m.ID] = true
		})
	}
	wg.Wait()
	return r, nil
}

// isHealthy reports whether the member with ID answers at one of the URLs, with the consent of a majority.
func (s *Server) isHealthy(ctx context.Context, urls []string, id uint64) bool {
	client, err := s.dialMembers(urls)
	if err != nil {
		return false
	}
	defer func() { _ = client.Close() }()
	try, cancel := context.WithTimeout(ctx, 2*queryTimeout)
	defer cancel()
	resp, err := client.Get(try, "\x00", clientv3.WithCountOnly())
	return err == nil && resp.Header.MemberId == id
}

// dialMembers returns a client for other members. A member uses its own certificate as a client.
func (s *Server) dialMembers(endpoints []string) (*clientv3.Client, error) {
	cfg := clientv3.Config{Endpoints: endpoints, DialTimeout: queryTimeout, Logger: zap.NewNop()}
	if len(endpoints) == 0 {
		return nil, errors.New("the other members have no client URL")
	}
	if s.cfg.ClientTLS.given() {
		c, err := s.cfg.etcd().ClientTLSInfo.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("read the certificate for clients: %w", err)
		}
		cfg.TLS = c
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(endpoints, ","), err)
	}
	return client, nil
}

// initialCluster returns the members in etcd's format. A member that has not started has no name yet; any other name will do.
func initialCluster(name, self string, members []*pb.Member) string {
	var entries []string
	for _, m := range members {
		called := m.Name
		switch {
		case slices.Contains(m.PeerURLs, self):
			called = name
		case called == "":
			called = strconv.FormatUint(m.ID, 16)
		}
		for _, u := range m.PeerURLs {
			entries = append(entries, called+"="+u)
		}
	}
	return strings.Join(entries, ",")
}
