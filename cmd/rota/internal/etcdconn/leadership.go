package etcdconn

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/election"
)

// Leading holds the parameters of Lead.
type Leading struct {
	Election string                                                 // the prefix of the election's keys
	Answers  func(ctx context.Context, node, addr string) (ok bool) // reports whether the process named node answers at addr
}

// Lead manages an embedded etcd until ctx ends. Only the process that leads rota calls it. It compacts etcd, and moves etcd's
// leadership to another process. Without an embedded etcd it does nothing.
func (c *Conn) Lead(ctx context.Context, l Leading) {
	if c.member == nil {
		return
	}
	compactor := newCompactor(c.client, c.member.Endpoint(), c.log.Named("etcd"))
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		compactor.run(ctx)
	}()
	c.keepApart(ctx, l)
	<-done
}

// keepApart moves etcd's leadership to another member whenever this process has it, until ctx ends. So the death of one process
// causes one election instead of two. It waits at first, because the first writes of a new leader are urgent, and a move would
// delay them.
func (c *Conn) keepApart(ctx context.Context, l Leading) {
	for {
		if loop.Pause(ctx, time.Second); ctx.Err() != nil {
			return
		}
		if c.member.IsLeader() && c.member.MemberCount() > 1 {
			if err := c.moveLeadership(ctx, l); err != nil && ctx.Err() == nil {
				c.log.Debug("etcd leadership was not moved", "err", err)
			}
		}
	}
}

// moveLeadership makes the member of another replica lead etcd.
func (c *Conn) moveLeadership(ctx context.Context, l Leading) error {
	candidates, err := election.Candidates(ctx, c.client, l.Election)
	if err != nil {
		return err
	}
	id, ok := successor(candidates, func(candidate election.Candidate) (uint64, bool) {
		id, known := c.member.MemberID(candidate.Node)
		return id, known && id != c.member.ID() && l.Answers(ctx, candidate.Node, candidate.Addr)
	})
	if !ok {
		return errors.New("no other replica stands for election and answers")
	}
	moving, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.member.MoveLeader(moving, id)
}

// successor chooses the next leader of etcd among the candidates for which eligible reports true.
//
// The member must belong to a replica that is a candidate, because a replica that is no candidate may be about to stop. The
// replica must answer, because etcd accepts no writes while it waits for a member that does not answer. The last candidate in the
// queue is the best choice. The first one would be the next leader of rota, and would have to move etcd's leadership again.
func successor(candidates []election.Candidate, eligible func(election.Candidate) (uint64, bool)) (id uint64, ok bool) {
	for _, c := range slices.Backward(candidates) {
		if id, ok = eligible(c); ok {
			return id, true
		}
	}
	return 0, false
}
