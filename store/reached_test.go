package store

import (
	"errors"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// TestAStoreThatWentBackIsNotRead answers with a lower revision than before. Lists fail from then on, also after the revision has
// risen again, until the store is accepted.
func TestAStoreThatWentBackIsNotRead(t *testing.T) {
	for name, goBack := range map[string]func(s *Store, m *Mirror, key string){
		"a lower revision": func(s *Store, _ *Mirror, _ string) {
			s.count.reached.raise(s.count.reached.cluster, s.Reached()+1)
			if _, err := s.Revision(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"a record of a lower revision": func(_ *Store, m *Mirror, key string) {
			m.page([]*mvccpb.KeyValue{{Key: []byte(key), Value: []byte("{}"), ModRevision: 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake(t, nil).Client()
			s := open(t, c)
			m := following(t, s)
			key := s.keys.record(KindGate, "")
			put(t, c, key, `{}`)
			if catchUp(t, s, m); s.WentBack() != 0 {
				t.Fatalf("went back to %d", s.WentBack())
			}
			goBack(s, m, key)
			put(t, c, key, `{}`)
			put(t, c, key, `{}`)
			if s.WentBack() == 0 {
				t.Error("it is not noticed")
			}
			never := follower{begin: func() {}, page: func([]*mvccpb.KeyValue) {}, reset: func(int64) { t.Error("it was read") }}
			if err := s.followOnce(t.Context(), s.keys.All(), never); !errors.Is(err, errWentBack) {
				t.Errorf("got %v, want %v", err, errWentBack)
			}
			s.ResetReached(Observation{Cluster: "0", Revision: 1})
			if s.WentBack() != 0 {
				t.Error("it was accepted, and still counts")
			}
		})
	}
}

// An answer to a request that was sent before the acceptance says nothing about the accepted store.
func TestAnAnswerOfAnEarlierStoreIsIgnored(t *testing.T) {
	var r reached
	r.raise(1, 100)
	sent := r.mark()
	r.reset(1, 50)
	if !r.answered(&pb.ResponseHeader{ClusterId: 1, Revision: 51}, sent) {
		t.Error("the accepted store counts as restored")
	}
	if r.answered(&pb.ResponseHeader{ClusterId: 2, Revision: 200}, r.mark()) {
		t.Error("the answer of another cluster counts")
	}
}

// A restored store soon has a higher revision than before. But one of its records has a lower revision than the mirror knows.
func TestAListOfARestoredStoreReplacesNothing(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := NewMirror(s)
	if _, err := s.PutJob(within(t), definition("j")); err != nil {
		t.Fatal(err)
	}
	const before = 1 << 20
	m.records[KindJobs] = map[string]record{"j": {rev: before}}
	err := s.followOnce(within(t), s.keys.All(), follower{
		begin: m.begin, page: m.page, reset: m.reset, consumer: consumer{apply: m.apply, current: m.current},
	})
	if !errors.Is(err, errWentBack) || s.WentBack() == 0 {
		t.Errorf("got %v, went back to %d", err, s.WentBack())
	}
	if got := m.records[KindJobs]["j"].rev; got != before {
		t.Errorf("the mirror has the job at revision %d", got)
	}
}
