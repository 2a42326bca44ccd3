package etcdconn

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/ports"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestAMemberThatHangsIsLeftOut silences members and heals them. If no member answers, all are kept.
func TestAMemberThatHangsIsLeftOut(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	first, second := proxy.NewLink(t, endpoint), proxy.NewLink(t, endpoint)
	all := []string{first.Endpoint(), second.Endpoint()}
	set := config.Etcd{Endpoints: all, Prefix: "/rota"}
	client, err := Dial(set)
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{client: client, endpoints: newEndpoints(set, client, func() string { return "" }, hclog.NewNullLogger())}
	run(t, c)
	uses := func(want ...string) func() bool {
		return func() bool { return slices.Equal(client.Endpoints(), want) }
	}

	first.Cut()
	eventually(t, "the first is left out", uses(second.Endpoint()))
	if first.Held() == 0 {
		t.Error("the cut did not bite")
	}
	second.Cut()
	eventually(t, "both are used when none answers", uses(all...))
	first.Heal()
	eventually(t, "the second is left out", uses(first.Endpoint()))
	second.Heal()
	eventually(t, "both are used again", uses(all...))
	if _, err := client.Get(t.Context(), "/rota/"); err != nil {
		t.Errorf("read by the client whose endpoints were chosen: %v", err)
	}
}

// TestAnElectionOfEtcdDoesNotSwitchClusters silences all members of the process's cluster for as long as an election takes.
// Another cluster must not replace it, because that cluster does not have the leases of this process.
func TestAnElectionOfEtcdDoesNotSwitchClusters(t *testing.T) {
	t.Parallel()
	all := []string{"http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"}
	client, err := Dial(config.Etcd{Endpoints: all, Prefix: "/rota"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ignoreCanceled(client.Close()) })
	c := newEndpoints(config.Etcd{Endpoints: all}, client, func() string { return "ours" }, hclog.NewNullLogger())
	c.clusters = []string{"another", "ours", "ours"}
	for probes := range strangeAfter {
		c.silent = []int{0, probes, probes}
		if c.choose(); !slices.Equal(client.Endpoints(), all[1:]) {
			t.Fatalf("after %d probes without an answer: got %v, want our own", probes, client.Endpoints())
		}
	}
	c.silent = []int{0, strangeAfter, strangeAfter} // the store was restored as another cluster
	if c.choose(); !slices.Equal(client.Endpoints(), all[:1]) {
		t.Errorf("when ours is given up: got %v, want the one that answers", client.Endpoints())
	}
}

// TestAMemberThatComesBackIsFoundSoon checks that gRPC retries a failed connection every few seconds, even after a long outage.
func TestAMemberThatComesBackIsFoundSoon(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	l := proxy.NewLink(t, endpoint)
	l.Cut()
	client, err := Dial(config.Etcd{Endpoints: []string{l.Endpoint()}, Prefix: "/rota"})
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
		return l.Accepted() >= 4
	})
	l.Heal()
	eventually(t, "it answers", answers)
}

// TestTheVersionComesFromTheFirstAnswer gets the version from three endpoints, of which only the last one answers.
func TestTheVersionComesFromTheFirstAnswer(t *testing.T) {
	t.Parallel()
	hangs, endpoint := proxy.NewLink(t, etcd(t)), etcd(t)
	hangs.Cut()
	client, err := Dial(config.Etcd{Endpoints: []string{"http://" + ports.Addr(t), hangs.Endpoint(), endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ignoreCanceled(client.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := CheckVersion(ctx, client); err != nil {
		t.Errorf("got %v, want the version of the last endpoint", err)
	}
	client.SetEndpoints(hangs.Endpoint())
	ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := CheckVersion(ctx, client); err == nil {
		t.Error("the cut did not bite")
	}
}

// run runs c until the test ends, and closes it.
func run(t *testing.T, c *Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
