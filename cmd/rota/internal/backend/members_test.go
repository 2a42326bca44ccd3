package backend

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestToleratedLosses counts members that this replica has not heard of. They are no proof of a lost majority if the store has just
// answered, and they are one if it does not answer.
func TestToleratedLosses(t *testing.T) {
	one := []api.MemberView{{Name: "q1", State: memberPresent}, {Name: "q2", State: memberMissing}, {Name: "q3", State: memberMissing}}
	two := []api.MemberView{one[0], {Name: "q2", State: memberPresent}, one[2]}
	all := []api.MemberView{one[0], two[1], {Name: "q3", State: memberPresent}}
	embedded, external := []string{"q1", "q2", "q3"}, []string(nil)
	for _, test := range []struct {
		name    string
		etcd    []string
		voters  int
		members []api.MemberView
		store   api.StoreView
		quorate bool
		want    int
	}{
		{"the others have not answered yet", embedded, 3, one, api.StoreView{}, true, 0},
		{"the majority is lost", embedded, 3, one, api.StoreView{}, false, -1},
		{"one is lost", embedded, 3, two, api.StoreView{}, true, 0},
		{"one is lost and nobody leads", embedded, 3, two, api.StoreView{}, false, 0},
		{"all are there", embedded, 3, all, api.StoreView{}, true, 1},
		{"a member was added and never started", embedded, 4, all, api.StoreView{}, true, 0},
		{"etcd of its own lost its majority", external, 0, two, api.StoreView{Members: embedded, Unavailable: embedded[1:]}, false, -1},
		{"etcd of its own answers again", external, 0, two, api.StoreView{Members: embedded, Unavailable: embedded[1:]}, true, 0},
	} {
		b := &Backend{memberNames: func() []string { return test.etcd }, voters: func() int { return test.voters }}
		if got := b.tolerated(test.members, &test.store, test.quorate); *got != test.want {
			t.Errorf("%s: got %d tolerated losses, want %d", test.name, *got, test.want)
		}
	}
}

// TestAMemberThatStartsIsNotLost names members that are not present. One of them may only be starting.
func TestAMemberThatStartsIsNotLost(t *testing.T) {
	v := api.ClusterView{Tolerated: new(0), Members: []api.MemberView{
		{Name: "q1", State: memberPresent}, {Name: "q2", State: memberMissing},
		{Name: "q3", State: memberMissing, Since: time.Unix(1, 0)}, {Name: "q4", State: memberStopped, Since: time.Unix(1, 0)},
	}}
	var got []string
	b := &Backend{memberNames: func() []string { return []string{"q1", "q2", "q3", "q4"} }, voters: func() int { return 5 }}
	b.addMembers(&v, func(_, _, text, _ string, _ time.Time) { got = append(got, text) })
	want := []string{
		"Replica q2 has not answered yet: no further loss is tolerated.",
		"Replica q3 does not answer: no further loss is tolerated.",
		"Replica q4 was stopped: no further loss is tolerated.",
		"1 of the 5 members of etcd never started: each of them counts as lost.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// roll has the observations of a replica that has just started.
type roll struct {
	answering, uncalled []string
	outages             []job.Outage
}

func (r roll) Answering() map[string]bool {
	list := map[string]bool{}
	for _, name := range r.answering {
		list[name] = true
	}
	return list
}
func (r roll) Uncalled() []string      { return r.uncalled }
func (r roll) Outages() []job.Outage   { return r.outages }
func (r roll) Events() []*job.Event    { return nil }
func (r roll) JobEvents() []*job.Event { return nil }
func (r roll) Changes() []*job.Audit   { return nil }

// TestAReplicaThatJustStartedMissesNobody asks q1 before it has called the others. All are present in the store, and q3 is known to
// be dead.
func TestAReplicaThatJustStartedMissesNobody(t *testing.T) {
	dead := job.Outage{Node: "q3", From: time.Unix(1, 0), Cause: job.OutageDead}
	r := roll{answering: []string{"q1"}, uncalled: []string{"q2", "q3"}, outages: []job.Outage{dead}}
	want := []api.MemberView{
		{Name: "q1", State: memberPresent}, {Name: "q2", State: memberPresent}, {Name: "q3", State: memberMissing, Since: dead.From},
	}
	for name, members := range map[string][]string{"embedded": {"q1", "q2", "q3"}, "external": nil} {
		b := &Backend{calls: r, log: r, memberNames: func() []string { return members }}
		if diff := cmp.Diff(want, b.members(time.Unix(2, 0))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
