package embedded

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/test/ports"
)

// trio returns three members of one cluster. Their heartbeat and election times
// are half the defaults.
func trio(t *testing.T) []Config {
	t.Helper()
	cfgs := make([]Config, 3)
	var cluster []string
	for i := range cfgs {
		cfgs[i] = solo(t)
		cfgs[i].Name = fmt.Sprintf("q%d", i+1)
		cfgs[i].Heartbeat, cfgs[i].Election = DefaultHeartbeat/2, DefaultElection/2
		cluster = append(cluster, cfgs[i].Name+"=http://"+ports.Addr(t))
	}
	for i := range cfgs {
		cfgs[i].Cluster = strings.Join(cluster, ",")
	}
	return cfgs
}

func startAll(t *testing.T, cfgs []Config) []*Server {
	t.Helper()
	servers, errs := make([]*Server, len(cfgs)), make([]error, len(cfgs))
	var wg sync.WaitGroup
	for i, cfg := range cfgs {
		wg.Go(func() { servers[i], errs[i] = tryStart(t, cfg) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return servers
}

func leader(servers []*Server) int {
	for i, s := range servers {
		if s.IsLeader() {
			return i
		}
	}
	return -1
}

func TestThreeMembers(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	servers := startAll(t, cfgs)
	put(t, servers[0].Client(), "k", "1")
	for _, s := range servers {
		wantValue(t, s.Client(), "k", "1")
		if got := s.MemberCount(); got != 3 {
			t.Errorf("got %d members, want 3", got)
		}
	}

	l := leader(servers)
	next := (l + 1) % 3
	if err := servers[l].MoveLeader(withTimeout(t, 10*time.Second), servers[next].ID()); err != nil {
		t.Fatal(err)
	}
	if got, want := servers[l].LeaderID(), servers[next].ID(); got != want {
		t.Errorf("leader after MoveLeader: got %x, want %x", got, want)
	}
	eventually(t, "the new leader knows", servers[next].IsLeader)

	if err := servers[next].YieldLeader(withTimeout(t, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if servers[next].IsLeader() {
		t.Error("still leads after YieldLeader")
	}

	// When the leader stops, the others continue at once, without an election.
	eventually(t, "a leader", func() bool { return leader(servers) >= 0 })
	l = leader(servers)
	rest := servers[(l+1)%3]
	began := time.Now()
	if err := servers[l].Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("Close of the leader took %s", time.Since(began))
	if id := rest.LeaderID(); id == 0 || id == servers[l].ID() {
		t.Errorf("leader after its Close: got %x, want one of the others", id)
	}
	put(t, rest.Client(), "k", "2")

	again := start(t, cfgs[l])
	wantValue(t, again.Client(), "k", "2")
	put(t, again.Client(), "k", "3")
	wantValue(t, rest.Client(), "k", "3")
}

func TestRemovedMemberEndsByItself(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	servers := startAll(t, cfgs)
	l := leader(servers)
	out, rest := servers[(l+1)%3], servers[l]
	remote, err := clientv3.New(clientv3.Config{Endpoints: []string{out.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	for _, c := range []*clientv3.Client{remote, out.Client()} {
		if _, err := c.Status(withTimeout(t, 5*time.Second), out.Endpoint()); err != nil {
			t.Fatal(err)
		}
	}
	// The strict check requires that all members are connected for at least five seconds.
	eventually(t, "member removed", func() bool {
		_, err := rest.Client().MemberRemove(withTimeout(t, 5*time.Second), out.ID())
		return err == nil
	})
	select {
	case <-out.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the removed member continues")
	}
	wantError(t, out.Err(), "removed")
	for _, c := range []*clientv3.Client{remote, out.Client()} { // etcd itself would panic
		if _, err := c.Status(withTimeout(t, time.Second), out.Endpoint()); err == nil {
			t.Error("a removed member has a status")
		}
	}
	if _, err := out.Client().Get(withTimeout(t, time.Second), "k", clientv3.WithSerializable()); err == nil {
		t.Error("a read on an ended member succeeded")
	}
	if err := out.Close(); err != nil {
		t.Logf("close the removed member: %v", err)
	}
	_, err = tryStart(t, cfgs[(l+1)%3])
	wantError(t, err, "removed from the cluster; with this process stopped, move ")
}

func TestAMemberThatLostItsDataJoinsAgain(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	servers := startAll(t, cfgs)
	put(t, servers[0].Client(), "k", "1")
	lost, rest := servers[2], servers[0].Client()
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	empty := func() {
		t.Helper()
		if err := os.RemoveAll(cfgs[2].Dir); err != nil {
			t.Fatal(err)
		}
	}
	empty()
	_, err := tryStart(t, cfgs[2])
	url := cfgs[2].withDefaults().Peer
	wantError(t, err, "member add q3 --peer-urls="+url)

	// The strict check requires that the others are connected for at least five seconds.
	eventually(t, "member removed", func() bool {
		_, err := rest.MemberRemove(withTimeout(t, 5*time.Second), lost.ID())
		return err == nil
	})
	eventually(t, "member added", func() bool {
		_, err := rest.MemberAdd(withTimeout(t, 5*time.Second), []string{url})
		return err == nil
	})
	empty()
	again := start(t, cfgs[2])
	if again.ID() == lost.ID() || again.MemberCount() != 3 {
		t.Errorf("got member %x of %d, want a new member instead of %x, of 3", again.ID(), again.MemberCount(), lost.ID())
	}
	wantValue(t, again.Client(), "k", "1")
	if err := servers[1].Close(); err != nil { // now the vote of the new member is needed
		t.Fatal(err)
	}
	put(t, rest, "k", "2")
	wantValue(t, again.Client(), "k", "2")

	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, cfgs[2]) // as any member starts
}

func TestAClusterOfOneDoesNotBecomeTwo(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	alone := cfgs[0]
	alone.Cluster, alone.Peer = "", alone.withDefaults().Peer
	one := start(t, alone)
	put(t, one.Client(), "k", "1")

	_, err := tryStart(t, cfgs[1])
	wantError(t, err, "none of q1", "docs/how-to/grow-to-three.md")
	if !errors.Is(err, ErrMembers) {
		t.Errorf("a second member: got %v, want %v", err, ErrMembers)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = tryStart(t, cfgs[0])
	wantError(t, err, cfgs[0].Dir, "cluster of one", "lists 3 members", "set etcd.embedded.rejoin: auto")
	if !errors.Is(err, ErrMembers) {
		t.Errorf("the first member: got %v, want %v", err, ErrMembers)
	}
	wantValue(t, start(t, alone).Client(), "k", "1")
}
