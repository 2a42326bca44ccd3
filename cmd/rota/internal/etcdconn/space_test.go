package etcdconn

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// answering is a fake etcd whose members have these statuses. A member with a nil status does not answer.
type answering struct {
	clientv3.Maintenance
	members map[string]*clientv3.StatusResponse
}

func (a answering) Status(_ context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	if st := a.members[endpoint]; st != nil {
		return st, nil
	}
	return nil, context.DeadlineExceeded
}

// TestAMemberThatIsCutOffIsIgnored cuts a member off before the alarm ends. The member still reports the alarm.
func TestAMemberThatIsCutOffIsIgnored(t *testing.T) {
	t.Parallel()
	full := []string{"memberID:1 alarm:NOSPACE "}
	etcd := answering{members: map[string]*clientv3.StatusResponse{
		"a": {DbSize: 10, DbSizeQuota: 100, Leader: 7},
		"b": {DbSize: 90, DbSizeQuota: 100, Errors: append(full, "etcdserver: no leader")},
	}}
	client := clientv3.NewCtxClient(t.Context())
	client.Maintenance = etcd
	s, all := NewSpace(hclog.NewNullLogger()), []string{"a", "b", "c"}
	s.poll(t.Context(), client, all)
	if size, _, full := s.Fill(); size != 10 || full {
		t.Errorf("got %d bytes, full %v; want 10, not full", size, full)
	}
	if s.NearlyFull() {
		t.Error("10 of 100 bytes are nearly full")
	}
	if got, want := s.Unavailable(), []string{"b", "c"}; !slices.Equal(got, want) {
		t.Errorf("unavailable: got %v, want %v", got, want)
	}
	etcd.members["b"] = &clientv3.StatusResponse{DbSize: 90, DbSizeQuota: 100, Leader: 7, Errors: full}
	s.poll(t.Context(), client, all)
	if size, _, full := s.Fill(); size != 90 || !full {
		t.Errorf("after it has come back: got %d bytes, full %v; want 90, full", size, full)
	}
	if !s.NearlyFull() {
		t.Error("90 of 100 bytes are not nearly full")
	}
}
