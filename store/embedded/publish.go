package embedded

import (
	"context"
	"net/url"
	"slices"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

// publishPeer makes the peer URL of this member in the list of members equal to the settings, and returns. It repeats the change
// until Close. The other members reach this one at its old URL until then, or not at all. Meanwhile this member opens the
// connections itself, so the cluster has its vote.
func (s *Server) publishPeer() {
	for {
		_, own := s.members()
		if own != nil && slices.Equal(own.PeerURLs, []string{s.cfg.Peer}) {
			return
		}
		if own != nil && s.LeaderID() != 0 {
			ctx, end := context.WithTimeout(context.Background(), changeTimeout)
			s.updatePeer(ctx, own)
			end()
		}
		select {
		case <-s.closing:
			return
		case <-s.etcd.Server.StoppingNotify():
			return
		case <-time.After(promoteEvery):
		}
	}
}

// updatePeer changes the peer URL of this member. own is its present entry.
func (s *Server) updatePeer(ctx context.Context, own *membership.Member) {
	if _, err := s.client.MemberUpdate(ctx, s.ID(), []string{s.cfg.Peer}); err != nil {
		s.log.Warn("the peer url of this member was not changed", "node", s.cfg.Name, "err", err)
		return
	}
	s.log.Info("the peer url of this member was changed", "node", s.cfg.Name, "from", own.PeerURLs, "to", s.cfg.Peer)
}

// isAt reports whether a member with these peer URLs is the listed one. The schemes may differ, because members change to TLS one
// after another.
func isAt(urls []string, listed peer) bool {
	return slices.ContainsFunc(urls, func(u string) bool { return sameHost(u, listed.url) })
}

// sameHost reports whether two URLs have the same host and port.
func sameHost(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	return errX == nil && errY == nil && x.Host == y.Host
}
