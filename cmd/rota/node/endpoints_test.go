package node

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/ports"
	"github.com/rota-scheduler/rota/test/proxy"
)

// TestWatchesMoveFromASilentMember silences the members of etcd in turn. The watches of the silent member move to another member
// before gRPC would notice the silence.
func TestWatchesMoveFromASilentMember(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	links := []*proxy.Link{proxy.NewLink(t, endpoint), proxy.NewLink(t, endpoint)}
	cfg := Config{Settings: outside(t, "q1", endpoint), Version: version}
	cfg.Settings.Etcd.Endpoints = []string{links[0].Endpoint(), links[1].Endpoint()}
	r := start(t, cfg)
	r.lead(t)
	r.put(t, "work", job.Spec{Shell: "true"})
	const anew = "watch ended, listing anew"
	heard := func(what string) int { return strings.Count(r.log.String(), what) }
	for i, l := range links { // after the first round, all watches are at the member that is silenced next
		before := heard(anew)
		l.Cut()
		eventually(t, "the member is left out", func() bool { return heard("do not answer are left out") > i })
		r.makeHistory(t)
		eventually(t, "its watches move to another member", func() bool { return i == 0 || heard(anew) > before })
		l.Heal()
		eventually(t, "both members are used", func() bool { return heard("all members of etcd are used") > i })
	}
	for line := range strings.Lines(r.log.String()) {
		if !strings.Contains(line, anew) || strings.Contains(line, "did not accept it") {
			continue
		}
		_, quiet, _ := strings.Cut(strings.TrimSpace(line), "no progress for ")
		if d, err := time.ParseDuration(strings.TrimSuffix(quiet, `"`)); err != nil || d > 8*time.Second {
			t.Errorf("a watch was replaced late: %s", line)
		}
	}
	if got := r.metric(t, "rota_terms_total"); got != 1 {
		t.Errorf("terms that it led: got %v, want the first alone", got)
	}
}

// TestAnEndpointOfAnotherClusterIsLeftOut configures an endpoint of another cluster. It answers every request, but from its own
// store.
func TestAnEndpointOfAnotherClusterIsLeftOut(t *testing.T) {
	t.Parallel()
	stranger, _ := etcdOf(t, embedded.Config{Dir: t.TempDir(), Client: "http://127.0.0.1:0", Peer: "http://" + ports.Addr(t)})
	own := etcd(t)
	cfg := Config{Settings: settings(t, "q1"), Version: version}
	cfg.Settings.Etcd.Embedded = config.Embedded{}
	for _, endpoints := range [][]string{
		{stranger, proxy.NewLink(t, own).Endpoint(), own}, // the cluster of most endpoints is chosen,
		{stranger, own}, // and later the process remembers its cluster
	} {
		cfg.Settings.Etcd.Endpoints = endpoints
		r := start(t, cfg)
		r.lead(t)
		r.put(t, "work", job.Spec{Shell: "true"})
		r.makeHistory(t)
		if log := r.log.String(); strings.Count(log, "another etcd cluster are left out") != 1 || !strings.Contains(log, "endpoints="+stranger) {
			t.Errorf("with %v, the log does not name the stranger once:\n%s", endpoints, log)
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// lock makes etcd require a password, adds a user, and returns the path of a file with the user's password.
func lock(t *testing.T, endpoint, user string) (passwordFile string) {
	t.Helper()
	client, err := etcdconn.Dial(config.Etcd{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const password = "s3cret"
	_, err1 := client.UserAdd(t.Context(), "root", password)
	_, err2 := client.UserGrantRole(t.Context(), "root", "root")
	_, err3 := client.UserAdd(t.Context(), user, password)
	_, err4 := client.UserGrantRole(t.Context(), user, "root")
	_, err5 := client.AuthEnable(t.Context())
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	passwordFile = filepath.Join(t.TempDir(), "password")
	files.Replace(t, passwordFile, password+"\n")
	return passwordFile
}

// TestANodeThatLogsInStartsWithTheMembersThatAnswer starts a node with a password. Such a node needs an answer of etcd to make
// its client. The answer of one member is enough.
func TestANodeThatLogsInStartsWithTheMembersThatAnswer(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	set := settings(t, "q1")
	set.Etcd.Embedded, set.Etcd.Username = config.Embedded{}, "rota"
	set.Etcd.PasswordFile = lock(t, endpoint, set.Etcd.Username)
	dead, late := proxy.NewLink(t, endpoint), proxy.NewLink(t, endpoint)
	set.Etcd.Endpoints = []string{dead.Endpoint(), late.Endpoint()}
	dead.Cut()
	late.Cut()
	r := launch(t, Config{Settings: set, Version: version})
	eventually(t, "it says that etcd does not answer", func() bool {
		return strings.Contains(r.log.String(), "etcd does not answer, trying again")
	})
	late.Heal()
	eventually(t, "it is ready", func() bool {
		_, ok, err := r.Ready(t.Context())
		return err == nil && ok
	})
	r.node = <-r.up
	r.lead(t)
	eventually(t, "the member that does not answer is left out", func() bool {
		return strings.Contains(r.log.String(), "endpoints="+dead.Endpoint())
	})
}

func TestAWrongPasswordIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	set := outside(t, "q1", endpoint)
	set.Etcd.Username = "rota"
	set.Etcd.PasswordFile = lock(t, endpoint, set.Etcd.Username)
	files.Replace(t, set.Etcd.PasswordFile, "wrong")
	launch(t, Config{Settings: set, Version: version}).stopped(t, "authentication failed")
}

func TestAPasswordThatWasChangedEndsTheProcess(t *testing.T) {
	t.Parallel()
	endpoint := etcd(t)
	cfg := Config{Settings: outside(t, "q1", endpoint), Version: version}
	set := &cfg.Settings.Etcd
	set.Username = "rota"
	set.PasswordFile = lock(t, endpoint, set.Username)
	r := start(t, cfg)
	root, err := etcdconn.Dial(config.Etcd{Endpoints: set.Endpoints, Username: "root", PasswordFile: set.PasswordFile})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := root.UserChangePassword(t.Context(), set.Username, "another"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is not ready any more", func() bool {
		_, ok, err := r.Ready(t.Context())
		return err == nil && !ok
	})
	files.Replace(t, set.PasswordFile, "another\n")
	r.stopped(t, "etcd.password_file")
	_ = r.end()
	start(t, cfg).lead(t)
}
