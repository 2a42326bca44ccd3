package doctor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/doctor"
)

// An endpoint of another etcd is named, and so is a store that waits until somebody accepts it.
func TestAStrangeStore(t *testing.T) {
	f := healthy()
	f.Members[0].Cluster, f.Members[1].Cluster, f.Members[2].Cluster = "a1", "b2", "a1"
	list := doctor.Examine(f).Findings
	const want = "different clusters: a1 (https://q1:2379, https://q3:2379), b2 (https://q2:2379)."
	if len(list) != 1 || !strings.Contains(list[0].Text, want) {
		t.Errorf("another etcd: got %+v", list)
	}
	f = healthy()
	f.Restored, f.Replicas, f.Answers = errors.New("the data came from another etcd"), nil, nil
	list = doctor.Examine(f).Findings
	accept := func(f doctor.Finding) bool {
		return strings.HasPrefix(f.Text, "The replicas wait") && strings.Contains(f.Do, "accept-restored-store")
	}
	if !slices.ContainsFunc(list, accept) {
		t.Errorf("a restored store: got %+v", list)
	}
}

func TestBrokenFilesAreFindings(t *testing.T) {
	f := healthy()
	f.Served, f.Broken = nil, []doctor.Broken{{Path: "/etc/rota/ca.crt", Err: errors.New("no certificate in it")}}
	list := doctor.Examine(f).Findings
	if len(list) != 1 || list[0].Area != doctor.AreaCertificates || list[0].Subject != "/etc/rota/ca.crt" {
		t.Errorf("got %+v", list)
	}
}
