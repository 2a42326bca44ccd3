package node

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
)

// A member that hangs is left out and taken back; when none answers, all are kept.
func TestAMemberThatHangsIsLeftOut(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	first, second := newLink(t, endpoint), newLink(t, endpoint)
	all := []string{first.endpoint(), second.endpoint()}
	set := config.Etcd{Endpoints: all, Prefix: "/rota"}
	client, err := Dial(set)
	if err != nil {
		t.Fatal(err)
	}
	choice, err := chooseEndpoints(set, client, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	var stops closers
	stops.add("close client", client.Close)
	stops.add("close probes", choice.close)
	stops.background(t.Context())("choose", choice.run)
	t.Cleanup(func() {
		if err := stops.close(); err != nil && ignoreCanceled(err) != nil {
			t.Error(err)
		}
	})
	uses := func(want ...string) func() bool {
		return func() bool { return slices.Equal(client.Endpoints(), want) }
	}

	first.cut()
	eventually(t, "the first is left out", uses(second.endpoint()))
	if first.held.Load() == 0 {
		t.Error("the cut did not bite")
	}
	second.cut()
	eventually(t, "both are used when none answers", uses(all...))
	first.heal()
	eventually(t, "the second is left out", uses(first.endpoint()))
	second.heal()
	eventually(t, "both are used again", uses(all...))
	if _, err := client.Get(t.Context(), "/rota/"); err != nil {
		t.Errorf("read by the client whose endpoints were chosen: %v", err)
	}
}

// A connection that cannot be had is tried again every few seconds, however long that has gone on.
func TestAMemberThatComesBackIsFoundSoon(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	l := newLink(t, endpoint)
	l.cut()
	client, err := Dial(config.Etcd{Endpoints: []string{l.endpoint()}, Prefix: "/rota"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ignoreCanceled(client.Close()) })
	answers := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Get(ctx, "/rota/")
		return err == nil
	}
	eventually(t, "it has been tried four times", func() bool {
		if answers() {
			t.Fatal("it answers: the cut did not bite")
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.conns) >= 2*4 // there and back
	})
	l.heal()
	eventually(t, "it answers", answers)
}
