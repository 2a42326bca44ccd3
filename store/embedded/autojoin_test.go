package embedded

import (
	"errors"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

const self = "http://q3:2380"

// member returns a member as etcd lists it. serves says that it has served clients.
func member(id uint64, name, url string, serves bool) *membership.Member {
	m := membership.NewMember(name, nil, "", nil)
	m.PeerURLs, m.Name = []string{url}, name
	if serves {
		m.ClientURLs = []string{"http://" + name + ":2379"}
	}
	return m
}

func TestAMemberWithoutDataStartsByWhatTheOthersSay(t *testing.T) {
	t.Parallel()
	q1, q2 := member(1, "q1", "http://q1:2380", true), member(2, "q2", "http://q2:2380", true)
	begins1, begins2, begins3 := member(1, "q1", "http://q1:2380", false), member(2, "q2", "http://q2:2380", false), member(3, "q3", self, false)
	fresh, silent := answer{fresh: true}, answer{err: errSilent}
	says := func(ms ...*membership.Member) answer { return answer{cluster: "a", members: ms} }
	restored := func(ms ...*membership.Member) answer { return answer{cluster: "of a backup", members: ms} }
	for _, tt := range []struct {
		name        string
		answers     []answer
		known, seen bool
		want        startKind
	}{
		{name: "all start for the first time", answers: []answer{fresh, fresh}, want: startNew},
		{name: "another has begun to form the cluster", answers: []answer{fresh, says(begins1, begins2, begins3)}, want: startNew},
		{name: "the others formed it, and know that this one is new", answers: []answer{says(q1, q2, begins3), says(q1, q2, begins3)}, seen: true, want: startNew},
		{name: "the others formed it with an earlier process", answers: []answer{says(q1, q2, begins3), says(q1, q2, begins3)}, want: startJoin},
		{name: "the others begin with a backup", answers: []answer{restored(begins1, begins2, begins3), restored(begins1, begins2, begins3)}, want: startLater},
		{name: "the others serve a backup", answers: []answer{restored(q1, q2, begins3), restored(q1, q2, begins3)}, seen: true, want: startJoin},
		{name: "one does not answer", answers: []answer{fresh, silent}, want: startLater},
		{name: "one does not answer, and the other begins", answers: []answer{silent, says(begins1, begins2, begins3)}, want: startLater},
		{name: "nobody answers", answers: []answer{silent, silent}, want: startLater},
		{name: "all start for the first time, but this one knows a cluster", answers: []answer{fresh, fresh}, known: true, want: startLater},
		{name: "the data is lost", answers: []answer{says(q1, q2, member(3, "q3", self, true)), silent}, want: startJoin},
		{name: "the data of two is lost", answers: []answer{fresh, says(q1, q2, member(3, "q3", self, true))}, seen: true, want: startJoin},
		{name: "an operator has added it", answers: []answer{says(q1, q2, member(4, "", self, false)), says(q1, q2, member(4, "", self, false))}, seen: true, want: startJoin},
		{name: "one of the others has never started", answers: []answer{says(q1, begins2, member(3, "q3", self, true)), silent}, want: startJoin},
		{name: "the cluster grows", answers: []answer{says(q1), fresh}, want: startJoin},
	} {
		if got := chooseStart(self, "a", tt.answers, tt.known, tt.seen); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestAMemberJoinsOnlyIfAMajorityIsHealthyWithoutIt(t *testing.T) {
	t.Parallel()
	voter := func(id uint64, name string) *pb.Member {
		return &pb.Member{ID: id, Name: name, PeerURLs: []string{"http://" + name + ":2380"}, ClientURLs: []string{"http://" + name + ":2379"}}
	}
	added := &pb.Member{ID: 9, PeerURLs: []string{self}, IsLearner: true}
	voted, began := &pb.Member{ID: 9, PeerURLs: []string{self}}, &pb.Member{ID: 9, Name: "q3", PeerURLs: []string{self}, IsLearner: true}
	moved := voter(3, "q3")
	moved.PeerURLs = []string{"http://q3:9"}
	other := &pb.Member{ID: 9, Name: "q9", PeerURLs: []string{self}, ClientURLs: []string{"http://q9:2379"}}
	joins := &pb.Member{ID: 8, Name: "q4", PeerURLs: []string{"http://q4:2380"}, IsLearner: true}
	listed := []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}, {"q3", self}, {"q4", "http://q4:2380"}}
	three := []*pb.Member{voter(1, "q1"), voter(2, "q2"), voter(3, "q3")}
	for _, tt := range []struct {
		name    string
		members []*pb.Member
		healthy []uint64
		want    admission
		refused bool
		err     error
	}{
		{name: "the lost member of three", members: three, healthy: []uint64{1, 2}, want: admission{remove: 3, add: true}},
		{name: "only one of three is healthy", members: three, healthy: []uint64{1}, refused: true},
		{name: "this name serves elsewhere", members: three, healthy: []uint64{1, 2, 3}, refused: true},
		{name: "another name serves at this url", members: append(three[:2:2], other), healthy: []uint64{1, 2, 9}, refused: true},
		{name: "another name had this url", members: append(three[:2:2], other), healthy: []uint64{1, 2}, want: admission{remove: 9, add: true}},
		{name: "the lost member was removed", members: three[:2], healthy: []uint64{1, 2}, want: admission{add: true}},
		{name: "one of the two left is down", members: three[:2], healthy: []uint64{1}, refused: true},
		{name: "it was added, and did not start", members: []*pb.Member{voter(1, "q1"), voter(2, "q2"), added}, healthy: []uint64{1, 2}},
		{name: "this name had another url", members: append(three[:2:2], moved), healthy: []uint64{1, 2}, want: admission{remove: 3, add: true}},
		{name: "this name serves at another url", members: append(three[:2:2], moved), healthy: []uint64{1, 2, 3}, refused: true},
		{name: "it was added as a voter", members: append(three[:2:2], voted), healthy: []uint64{1, 2}, want: admission{remove: 9, add: true}},
		{name: "it had begun to copy the data", members: append(three[:2:2], began), healthy: []uint64{1, 2}, want: admission{remove: 9, add: true}},
		{name: "another joins", members: append(three[:2:2], joins), healthy: []uint64{1, 2}, refused: true},
		{name: "one grows", members: three[:1], healthy: []uint64{1}, want: admission{add: true}},
		{name: "another cluster", members: []*pb.Member{voter(7, "q7")}, healthy: []uint64{7}, refused: true, err: ErrMembers},
	} {
		r := roster{members: tt.members, healthy: map[uint64]bool{}}
		for _, id := range tt.healthy {
			r.healthy[id] = true
		}
		got, err := r.admit(peer{"q3", self}, listed)
		if got != tt.want || (err != nil) != tt.refused || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%s: got %+v, %v; want %+v, refused %t", tt.name, got, err, tt.want, tt.refused)
		}
	}
}

func TestAListWithoutAVoterRemovesNobody(t *testing.T) {
	t.Parallel()
	q1, q2, q3 := member(1, "q1", "http://q1:2380", true), member(2, "q2", "http://q2:2380", true), member(3, "q3", self, true)
	all := []*membership.Member{q1, q2, q3}
	begins, learner := member(4, "q4", "http://q4:2380", false), member(5, "q5", "http://q5:2380", true)
	learner.IsLearner = true
	for _, tt := range []struct {
		name   string
		own    *membership.Member
		listed []peer
		leaves bool
		rest   int
	}{
		{"all are listed", q1, []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}, {"q3", self}}, false, 0},
		{"one is not", q1, []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}}, false, 1},
		{"this one is not", q3, []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}}, true, 0},
		{"the list is of another cluster", q3, []peer{{"q8", "http://q8:2380"}}, false, 0},
		{"there is no list", q3, nil, false, 0},
		{"a listed member that has never started follows", q1, []peer{{"q1", "http://q1:2380"}, {"q4", "http://q4:2380"}}, false, 2},
		{"only one that has never started is listed", q1, []peer{{"q4", "http://q4:2380"}}, false, 0},
		{"only a learner is listed", q1, []peer{{"q5", "http://q5:2380"}}, false, 0},
	} {
		all := all
		for _, m := range []*membership.Member{begins, learner} {
			if slices.ContainsFunc(tt.listed, func(p peer) bool { return isAt(m.PeerURLs, p) }) {
				all = append(all[:3:3], m)
			}
		}
		leaves, rest := departing(all, tt.own, tt.listed)
		if leaves != tt.leaves || len(rest) != tt.rest {
			t.Errorf("%s: got %t and %d others, want %t and %d", tt.name, leaves, len(rest), tt.leaves, tt.rest)
		}
	}
}
