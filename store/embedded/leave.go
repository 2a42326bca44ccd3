package embedded

import (
	"context"
	"time"
)

// Unlisted returns a channel that is closed when Config.Members no longer lists this member, and it has to leave its cluster. The
// member serves until the caller has finished its work and calls Leave. Without Rejoin, the channel stays open.
func (s *Server) Unlisted() <-chan struct{} { return s.unlisted }

// Leave removes this member from its cluster if it is unlisted. It tries again until the others accept that, until the member is
// listed again, or until ctx ends. A member that ended without their consent could take the majority away from them.
func (s *Server) Leave(ctx context.Context) {
	select {
	case <-s.unlisted:
	default:
		return
	}
	for {
		err := s.leaveOnce(ctx)
		all, own := s.members()
		if own == nil || s.isStopping() {
			return
		}
		if leaves, _ := departing(all, own, s.listed()); !leaves {
			s.log.Warn("etcd.embedded.cluster lists this member again, so it stays in the cluster", "node", s.cfg.Name)
			return
		}
		s.log.Warn("this member did not leave the cluster, trying again", "node", s.cfg.Name, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-s.etcd.Server.StoppingNotify():
			return
		case <-time.After(tendEvery):
		}
	}
}

func (s *Server) leaveOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_ = s.YieldLeader(ctx) // an election follows if it fails
	_, err := s.client.MemberRemove(ctx, s.ID())
	return err
}
