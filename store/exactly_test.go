package store

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/mem"
)

// A client that changes a definition learns whether the change took place. This holds even if a sending was not
// answered and another client changed the definition before the next sending.
func TestOutcomeAfterALaterChange(t *testing.T) {
	lose, refuse := mem.Verdict{Action: mem.Lose}, mem.Verdict{Action: mem.Refuse}
	type others func(t *testing.T, s *Store, c *clientv3.Client) // change the record between two sendings
	replace := func(t *testing.T, s *Store, _ *clientv3.Client) {
		j, err := s.Job(t.Context(), "j")
		if errors.Is(err, job.ErrNotFound) {
			j, err = definition("j"), nil
		}
		if err == nil {
			j.Generation += 10
			_, err = s.PutJob(t.Context(), j)
		}
		if err != nil {
			t.Error(err)
		}
	}
	remove := func(t *testing.T, s *Store, _ *clientv3.Client) {
		j, err := s.Job(t.Context(), "j")
		if err == nil {
			err = s.DeleteJob(t.Context(), "j", j.Rev)
		}
		if err != nil {
			t.Error(err)
		}
	}
	forget := func(t *testing.T, s *Store, c *clientv3.Client) {
		rev, err := s.Revision(t.Context())
		if err == nil {
			_, err = c.Compact(t.Context(), rev)
		}
		if err != nil {
			t.Error(err)
		}
	}
	const conflict, unknown = -1, -2
	for _, test := range []struct {
		name   string
		exists bool // the definition exists before the change
		first  mem.Verdict
		others []others
		change func(ctx context.Context, s *Store, j job.Job) (job.Job, error)
		want   int64 // the revision of the change minus that of the definition; or conflict or unknown
	}{
		{"replaced, and others replaced that", true, lose, []others{replace}, putting, 1},
		{"replaced, and others replaced and removed that", true, lose, []others{replace, remove}, putting, 1},
		{"not replaced, since others did", true, refuse, []others{replace}, putting, conflict},
		{"not replaced, since others removed it", true, refuse, []others{remove}, putting, conflict},
		{"replaced, and the revisions are compacted", true, lose, []others{replace, forget}, putting, unknown},
		{"created, and others replaced that", false, lose, []others{replace}, putting, 1},
		{"created, and others removed that", false, lose, []others{remove}, putting, 1},
		{"created, and others removed that and created one", false, lose, []others{remove, replace}, putting, 1},
		{"not created, since others did", false, refuse, []others{replace}, putting, conflict},
		{"not created, since others did and removed that, so once more", false, refuse, []others{replace, remove}, putting, 3},
		{"removed, and others created it again", true, lose, []others{replace}, removing, 1},
		{"removed, and others did nothing", true, lose, nil, removing, 1},
		{"not removed, since others replaced it", true, refuse, []others{replace}, removing, conflict},
		{"not removed, since others replaced it and removed that", true, refuse, []others{replace, remove}, removing, conflict},
		{"not removed, since others did", true, refuse, []others{remove}, removing, conflict},
		{"removed, and others created it again and removed that", true, lose, []others{replace, remove}, removing, 1},
		{"not removed, because others did, created it again and removed that", true, refuse, []others{remove, replace, remove}, removing, conflict},
		{"removed, and the revisions are compacted", true, lose, []others{replace, forget}, removing, unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c *clientv3.Client
			meanwhile := func(mem.Op) mem.Verdict {
				other := New(Config{Prefix: prefix, Process: "other"}, c, nullLog)
				defer other.Close()
				for _, change := range test.others {
					change(t, other, c)
				}
				return mem.Verdict{}
			}
			_, s, c2 := scripted(t, strike(test.first), meanwhile)
			c = c2
			first := New(Config{Prefix: prefix, Process: "first"}, c, nullLog)
			defer first.Close()
			j := definition("j")
			before, err := first.Revision(t.Context())
			if err == nil && test.exists {
				j, err = first.PutJob(t.Context(), j)
				before = j.Rev
			}
			if err != nil {
				t.Fatal(err)
			}
			j.Generation++
			got, err := test.change(t.Context(), s, j)
			switch {
			case test.want == conflict:
				if !errors.Is(err, job.ErrConflict) {
					t.Errorf("got %v, want %v", err, job.ErrConflict)
				}
			case test.want == unknown:
				if !isUnknown(err) || errors.Is(err, job.ErrConflict) {
					t.Errorf("got %v, want an unknown outcome", err)
				}
			case err != nil || got.Rev != 0 && got.Rev != before+test.want:
				t.Errorf("got revision %d (%v), want %d", got.Rev, err, before+test.want)
			}
		})
	}
}

func putting(ctx context.Context, s *Store, j job.Job) (job.Job, error) { return s.PutJob(ctx, j) }

func removing(ctx context.Context, s *Store, j job.Job) (job.Job, error) {
	return job.Job{}, s.DeleteJob(ctx, j.Name, j.Rev)
}
