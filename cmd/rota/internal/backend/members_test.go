package backend

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// TestToleratedLosses counts members that this replica has not heard of. They are no proof of a lost majority if the store has just
// answered, and they are one if it does not answer.
func TestToleratedLosses(t *testing.T) {
	one := []api.MemberView{{Name: "q1", State: memberPresent}, {Name: "q2", State: memberMissing}, {Name: "q3", State: memberMissing}}
	two := []api.MemberView{one[0], {Name: "q2", State: memberPresent}, one[2]}
	embedded, external := []string{"q1", "q2", "q3"}, []string(nil)
	for _, test := range []struct {
		name    string
		etcd    []string
		members []api.MemberView
		store   api.StoreView
		quorate bool
		want    int
	}{
		{"the others have not answered yet", embedded, one, api.StoreView{}, true, 0},
		{"the majority is lost", embedded, one, api.StoreView{}, false, -1},
		{"one is lost", embedded, two, api.StoreView{}, true, 0},
		{"one is lost and nobody leads", embedded, two, api.StoreView{}, false, 0},
		{"etcd of its own lost its majority", external, two, api.StoreView{Members: embedded, Unavailable: embedded[1:]}, false, -1},
		{"etcd of its own answers again", external, two, api.StoreView{Members: embedded, Unavailable: embedded[1:]}, true, 0},
	} {
		b := &Backend{memberNames: func() []string { return test.etcd }}
		if got := b.tolerated(test.members, &test.store, test.quorate); *got != test.want {
			t.Errorf("%s: got %d tolerated losses, want %d", test.name, *got, test.want)
		}
	}
}
