package embedded

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

// The pace at which a member compares the members with the settings.
const (
	tendEvery = 2 * time.Second
	// departPatience is how long a member that the settings no longer list must be silent before it is removed.
	departPatience = 15 * time.Second
	// promoteEvery is the time between two tries to promote a learner, which first has to catch up.
	promoteEvery = 200 * time.Millisecond
)

// promote makes this member a voter, if it is a learner. It returns when the member votes, or ctx has ended.
func (s *Server) promote(ctx context.Context) error {
	for logged := time.Now(); !s.isRemoved() && s.etcd.Server.IsLearner(); {
		err := s.tryPromote(ctx)
		if err != nil && time.Since(logged) > 5*patience {
			logged = time.Now()
			s.log.Info("this member copies the data and does not vote yet", "node", s.cfg.Name, "err", err)
		}
		select {
		case <-s.etcd.Server.StopNotify():
			return s.stopped()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(promoteEvery):
		}
	}
	if s.isRemoved() {
		return errRemoved
	}
	return nil
}

func (s *Server) tryPromote(ctx context.Context) error {
	var endpoints []string
	for _, m := range s.etcd.Server.Cluster().Members() {
		if !m.IsLearner {
			endpoints = append(endpoints, m.ClientURLs...)
		}
	}
	client, err := s.dialMembers(endpoints)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	try, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err = client.MemberPromote(try, s.ID())
	return err
}

// tend keeps the members of the cluster equal to the settings until Close, or until this member is no longer listed. It corrects
// the peer URL of this member, and removes members that no running process lists and that do not answer.
func (s *Server) tend() {
	closed, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.wg.Go(func() { // ends with tend, or with Close
		select {
		case <-s.closing:
			cancel()
		case <-closed.Done():
		}
	})
	silent := map[uint64]time.Time{} // since when an unlisted member has given no answer
	for {
		select {
		case <-s.closing:
			return
		case <-s.etcd.Server.StoppingNotify():
			return
		case <-time.After(tendEvery):
		}
		ctx, end := context.WithTimeout(closed, changeTimeout)
		leaves := s.tendOnce(ctx, silent)
		end()
		if leaves {
			close(s.unlisted)
			return
		}
	}
}

// tendOnce reports whether this member has to leave, because it is no longer listed.
func (s *Server) tendOnce(ctx context.Context, silent map[uint64]time.Time) (leaves bool) {
	all, own := s.members()
	if own == nil || s.LeaderID() == 0 {
		return false
	}
	if s.cfg.Cluster != "" && !slices.Equal(own.PeerURLs, []string{s.cfg.Peer}) {
		s.updatePeer(ctx, own)
		return false // the list of members is old
	}
	leaves, rest := departing(all, own, s.listed())
	if leaves {
		s.log.Warn("etcd.embedded.cluster no longer lists this member, so it leaves the cluster", "node", s.cfg.Name)
		return true
	}
	now := time.Now()
	for _, m := range all {
		id := uint64(m.ID)
		if !slices.Contains(rest, m) || s.answers(ctx, m) {
			delete(silent, id)
			continue
		}
		if silent[id].IsZero() {
			silent[id] = now
		}
		if now.Sub(silent[id]) < departPatience {
			continue
		}
		if by, known := s.listers(m); !known {
			silent[id] = now
			continue
		} else if len(by) > 0 {
			silent[id] = now
			s.log.Warn("a silent member is not removed: other replicas list it in etcd.embedded.cluster",
				"member", m.Name, "listed_by", strings.Join(by, ","))
			continue
		}
		if _, err := s.client.MemberRemove(ctx, id); err != nil {
			s.log.Warn("an unlisted member was not removed", "member", m.Name, "err", err)
			continue
		}
		delete(silent, id)
		s.log.Warn("a member was removed: etcd.embedded.cluster does not list it, and it does not answer",
			"member", m.Name, "id", strconv.FormatUint(id, 16))
	}
	return false
}

// members returns the members of the cluster, and this one; nil if it was removed.
func (s *Server) members() (all []*membership.Member, own *membership.Member) {
	all = s.etcd.Server.Cluster().Members()
	for _, m := range all {
		if m.ID == s.etcd.Server.MemberID() {
			own = m
		}
	}
	return all, own
}

// listers returns the other processes that list a member, sorted by name. A list with a mistake counts as one with every member.
// The member itself does not count. If known is false, their lists are not known yet.
func (s *Server) listers(m *membership.Member) (names []string, known bool) {
	if s.cfg.OthersList == nil {
		return nil, true
	}
	lists := s.cfg.OthersList()
	for name, list := range lists {
		peers, err := Config{Cluster: list}.peers()
		listed := err != nil || slices.ContainsFunc(peers, func(p peer) bool { return isAt(m.PeerURLs, p) })
		if listed && name != m.Name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, lists != nil
}

// answers reports whether a member answers at its peer URL. Without a certificate, it cannot be asked, and counts as one that
// answers.
func (s *Server) answers(ctx context.Context, m *membership.Member) bool {
	rt, err := s.cfg.peerTransport()
	if err != nil {
		s.log.Warn("an unlisted member cannot be asked", "member", m.Name, "err", err)
		return true
	}
	defer rt.CloseIdleConnections()
	try, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return len(m.PeerURLs) > 0 && askMember(try, rt, m.PeerURLs[0], s.cfg.Name).err == nil
}

// departing compares the members with the listed ones. It reports whether own is not listed, and returns the others that are
// not listed. If no voter is listed, it returns nothing: such a list belongs to another cluster.
func departing(all []*membership.Member, own *membership.Member, listed []peer) (leaves bool, rest []*membership.Member) {
	kept := false
	for _, m := range all {
		switch {
		case slices.ContainsFunc(listed, func(p peer) bool { return isAt(m.PeerURLs, p) }):
			kept = kept || !m.IsLearner && len(m.ClientURLs) > 0
		case m == own:
			leaves = true
		default:
			rest = append(rest, m)
		}
	}
	if !kept {
		return false, nil
	}
	return leaves, rest
}

// listed returns the members that the settings list at present; nil for a cluster of one without a list.
func (s *Server) listed() []peer {
	now := s.cfg
	if s.cfg.Members != nil {
		if list := s.cfg.Members(); list != "" {
			now.Cluster = list
		}
	}
	peers, err := now.peers()
	if err != nil {
		return nil
	}
	return peers
}
