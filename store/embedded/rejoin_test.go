package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/test/ports"
)

// rejoining returns n members of one cluster that may change its members.
func rejoining(t *testing.T, n int) []Config {
	t.Helper()
	cfgs := make([]Config, n)
	var cluster []string
	for i := range cfgs {
		cfgs[i] = solo(t)
		cfgs[i].Name, cfgs[i].Rejoin = fmt.Sprintf("q%d", i+1), true
		cfgs[i].Heartbeat, cfgs[i].Election = DefaultHeartbeat/2, DefaultElection/2
		cfgs[i].Client, cfgs[i].Peer = "http://"+ports.Addr(t), "http://"+ports.Addr(t)
		cluster = append(cluster, cfgs[i].Name+"="+cfgs[i].Peer)
	}
	listAll(cfgs, cluster)
	return cfgs
}

func listAll(cfgs []Config, cluster []string) {
	for i := range cfgs {
		cfgs[i].Cluster = strings.Join(cluster, ",")
	}
}

// lose ends a member without its farewell, and deletes its data.
func lose(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.cfg.Dir); err != nil {
		t.Fatal(err)
	}
}

func TestALostMemberRejoinsByItself(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 3)
	servers := startAll(t, cfgs)
	put(t, servers[0].Client(), "k", "1")
	cluster := servers[0].etcd.Server.Cluster().ID()
	for _, i := range []int{leader(servers), (leader(servers) + 1) % 3} {
		before := servers[i].ID()
		lose(t, servers[i])
		servers[i] = start(t, cfgs[i])
		if servers[i].ID() == before || servers[i].MemberCount() != 3 || servers[i].etcd.Server.IsLearner() {
			t.Errorf("got member %x of %d, a voter %t; want a new one of 3", servers[i].ID(), servers[i].MemberCount(), !servers[i].etcd.Server.IsLearner())
		}
		if got := servers[i].etcd.Server.Cluster().ID(); got != cluster {
			t.Errorf("got cluster %v, want %v", got, cluster)
		}
		wantValue(t, servers[i].Client(), "k", "1")
	}
}

func TestTwoMembersThatLostTheirDataFormNoSecondCluster(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 3)
	servers := startAll(t, cfgs)
	put(t, servers[0].Client(), "k", "1")
	if err := servers[0].Close(); err != nil { // the only one with data is away
		t.Fatal(err)
	}
	lose(t, servers[1])
	lose(t, servers[2])
	ctx := withTimeout(t, 8*time.Second)
	errs := make(chan error, 2)
	for _, cfg := range cfgs[1:] {
		go func() {
			_, err := Start(ctx, cfg, hclog.NewNullLogger())
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a member that waits", err)
		} else {
			wantError(t, err, "a new cluster begins only if all of its members answer")
		}
	}
}

func TestARemovedMemberJoinsAgain(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 3)
	servers := startAll(t, cfgs)
	put(t, servers[0].Client(), "k", "1")
	out, rest := servers[2], servers[0]
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "member removed", func() bool {
		_, err := rest.Client().MemberRemove(withTimeout(t, 5*time.Second), out.ID())
		return err == nil
	})
	again := start(t, cfgs[2])
	if again.ID() == out.ID() {
		t.Errorf("got member %x, want another than before", again.ID())
	}
	wantValue(t, again.Client(), "k", "1")
}

// One member grows to three and shrinks to one again, by its settings alone.
func TestTheSettingsDecideTheMembers(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 3)
	var cluster atomic.Value
	cluster.Store("")
	for i := range cfgs {
		cfgs[i].Members = func() string { return cluster.Load().(string) }
	}
	alone := cfgs[0]
	alone.Cluster, alone.Peer = "", ""
	one := start(t, alone)
	put(t, one.Client(), "k", "1")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	second := cfgs[1]
	second.Dir, second.Cluster, second.Peer = t.TempDir(), "", ""
	second.Client = "http://127.0.0.1:0"
	other := start(t, second)
	put(t, other.Client(), "k", "other")
	eventually(t, "the other cluster has served", func() bool { return other.etcd.Server.Cluster().Version() != nil })
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	second.Cluster, second.Peer = cfgs[1].Cluster, cfgs[1].Peer
	_, err := tryStart(t, second)
	if !errors.Is(err, ErrMembers) {
		t.Errorf("a cluster of one that is not listed first: got %v, want %v", err, ErrMembers)
	}
	wantError(t, err, "list "+second.Name+" first", "move "+second.Dir+" away")

	servers := startAll(t, cfgs)
	wantValue(t, servers[2].Client(), "k", "1")
	if got := servers[2].MemberCount(); got != 3 {
		t.Errorf("got %d members, want 3", got)
	}

	cluster.Store("q1=" + cfgs[0].Peer) // q2 and q3 are no longer listed, and leave
	for _, s := range servers[1:] {
		select {
		case <-s.Unlisted():
		case <-time.After(30 * time.Second):
			t.Fatalf("member %s does not notice that it has to leave", s.cfg.Name)
		}
		put(t, s.Client(), "k", "the last write of "+s.cfg.Name) // it serves until its caller has finished
		s.Leave(t.Context())
		<-s.Done()
		wantError(t, s.Err(), "removed")
	}
	eventually(t, "one member is left", func() bool { return servers[0].MemberCount() == 1 })
	put(t, servers[0].Client(), "k", "2")

	cluster.Store("")
	for _, s := range servers[1:] {
		_ = s.Close() // the error says again that it was removed
	}
	for _, s := range startAll(t, cfgs[1:]) { // with their old data: that of the last one has q1 as its only member
		wantValue(t, s.Client(), "k", "2")
	}
}

func TestASilentMemberThatIsNotListedIsRemoved(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 4)
	three := strings.Join(slices.Collect(strings.SplitSeq(cfgs[0].Cluster, ","))[:3], ",")
	var cluster atomic.Value
	cluster.Store("")
	for i := range cfgs {
		cfgs[i].Members = func() string { return cluster.Load().(string) }
	}
	servers := startAll(t, cfgs)
	if err := servers[3].Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Store(three)
	within(t, 2*departPatience, "the silent member is removed", func() bool { return servers[0].MemberCount() == 3 })
}

// One replica has an old list, on which a member is missing. Another replica that runs lists this member, so it stays.
func TestASilentMemberThatAnotherProcessListsStays(t *testing.T) {
	t.Parallel()
	cfgs := rejoining(t, 4)
	all := cfgs[0].Cluster
	three := strings.Join(slices.Collect(strings.SplitSeq(all, ","))[:3], ",")
	var cluster, listed atomic.Value
	cluster.Store("")
	listed.Store(map[string]string{"q3": all, "q4": all})
	var asked atomic.Int32
	for i := range cfgs {
		cfgs[i].Members = func() string { return cluster.Load().(string) }
		cfgs[i].OthersList = func() map[string]string {
			asked.Add(1)
			return listed.Load().(map[string]string)
		}
	}
	servers := startAll(t, cfgs)
	if err := servers[3].Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Store(three)
	within(t, 2*departPatience, "a member would remove the silent one", func() bool { return asked.Load() >= 3 })
	if n := servers[0].MemberCount(); n != 4 {
		t.Fatalf("got %d members, want 4: q3 lists all of them", n)
	}
	listed.Store(map[string]string{"q3": three, "q4": all}) // a silent member does not keep itself
	within(t, 2*departPatience, "the silent member is removed", func() bool { return servers[0].MemberCount() == 3 })
}
