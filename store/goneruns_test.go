package store

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestTheRecordThatFollowsIsFound checks that the records of a run that is gone can be read in their order, as long as etcd has them.
func TestTheRecordThatFollowsIsFound(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		ctx := within(t)
		first, err1 := s.Submit(ctx, *given(slot("j", 1), "w"))
		claim, err2 := first.Claim(first.Rev, epoch)
		claim, err3 := s.Write(ctx, claim)
		ended, err4 := claim.Finish(job.Outcome{State: job.Succeeded, At: epoch})
		ended, err5 := s.Write(ctx, ended)
		gone, err6 := c.Delete(ctx, s.keys.run(ended.Job, ended.ID))
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			t.Fatal(err)
		}
		follows := func(rev int64, want *job.Run) {
			t.Helper()
			got, err := s.Replaced(ctx, "j", first.ID, rev)
			if want == nil {
				if !errors.Is(err, job.ErrNotFound) {
					t.Errorf("after revision %d: got %+v, error %v, want %v", rev, got, err, job.ErrNotFound)
				}
				return
			}
			if err != nil || got.Rev != want.Rev || got.State != want.State {
				t.Errorf("after revision %d: got %s at %d, error %v, want %s at %d", rev, got.State, got.Rev, err, want.State, want.Rev)
			}
		}
		follows(first.Rev, &claim)
		follows(claim.Rev, &ended)
		follows(ended.Rev, nil)
		follows(gone.Header.Revision, nil)     // no revision of this run
		follows(gone.Header.Revision+100, nil) // as after the restore of a backup
		follows(first.Rev-1, nil)              // before the run
		if _, err := c.Compact(ctx, gone.Header.Revision); err != nil {
			t.Fatal(err)
		}
		follows(claim.Rev, nil)
	})
}
