package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// closing is a cluster that changes to mutual TLS and back.
type closing struct {
	*Cluster
	t    *testing.T
	dir  string              // of the certificates
	base map[string][]string // the arguments of each process without TLS
}

// TestAClosedNetworkAndBack takes three replicas and a worker under load from plain connections to mutual TLS, to auth.mode
// observe and required, to another authority, and back. It changes settings and restarts one process at a time, as
// docs/how-to/close-the-network.md says.
func TestAClosedNetworkAndBack(t *testing.T) {
	row(t)
	sink := NewSink(t)
	jobs := sink.Posts(30, job.Spec{})
	c := &closing{Cluster: Start(t, Config{Binary: binary, Jobs: jobs}), t: t, dir: t.TempDir(), base: map[string][]string{}}
	c.AddWorker("w1")
	for _, n := range c.nodes {
		c.base[n.Name] = n.Args
	}
	c.issue("old")
	files.Write(t, filepath.Join(c.dir, "auth.yaml"), "bindings: [{principal: ops, role: admin}]\n")
	c.use("old/ca.crt")
	c.present("old")

	t.Log("every replica accepts both; the worker needs TLS at once")
	c.roll(stage{files: true, optional: true})
	c.answers("http", true)
	c.answers("https", true)
	c.optional(true)
	c.watch("https")
	t.Log("TLS alone, and auth.mode observe")
	c.roll(stage{files: true, mode: "observe"})
	c.answers("http", false)
	c.answers("https", true)
	c.optional(false)
	t.Log("auth.mode required")
	c.roll(stage{files: true, mode: "required"})
	c.refusesUsers()
	t.Log("another authority")
	c.issue("new")
	c.bundle()
	c.use("both.crt")
	c.watch("https")
	c.roll(stage{files: true, mode: "required"})
	c.present("new")
	c.use("new/ca.crt")
	c.roll(stage{files: true, mode: "required"})
	c.watch("https")
	c.refusesUsers()
	t.Log("back")
	c.roll(stage{files: true, optional: true, back: true})
	c.watch("http")
	c.roll(stage{})
	c.answers("https", false)

	asked := len(sink.Requests())
	Await(t, 20*time.Second, "jobs run on", func() bool { return len(sink.Requests()) > asked+60 })
	c.Check(sink.Requests, nil, nil)
	if out, code := Command(t, binary, "verify", "--all-changes", "--endpoints", strings.Join(c.Endpoints(), ",")); code != 0 {
		t.Errorf("rota verify: %d\n%s", code, out)
	}
	if n := lost(c.Cluster); n > 0 {
		t.Errorf("%d attempts were lost, although all processes were asked to stop and had time", n)
	}
}

// stage is what the settings of all processes say of TLS.
type stage struct {
	files    bool
	optional bool   // replicas accept both; workers have made their whole change
	back     bool   // with optional: to no TLS
	mode     string // auth.mode; empty: off
}

// ofWorkers returns the settings of workers in a stage.
func (s stage) ofWorkers() stage {
	if s.optional && s.back {
		return stage{}
	}
	s.optional = false
	return s
}

// roll restarts one process after another with the settings of a stage, the worker last.
func (c *closing) roll(s stage) {
	c.t.Helper()
	for _, n := range c.nodes {
		of := s
		if n.Name == "w1" {
			of = s.ofWorkers()
		}
		n.Terminate()
		n.Args = c.args(n.Name, of)
		_, at, _ := strings.Cut(n.URL, "://")
		n.URL = "http://" + at
		if of.files && !of.optional {
			n.URL = "https://" + at
		}
		n.Client = c.client(n.URL)
		n.Start()
		n.WaitReady()
	}
}

// args returns the arguments of a process in a stage.
func (c *closing) args(name string, s stage) (args []string) {
	if !s.files {
		return c.base[name]
	}
	for _, arg := range c.base[name] {
		if strings.HasPrefix(arg, "--etcd-") && !s.optional {
			arg = strings.ReplaceAll(arg, "http://", "https://")
		}
		args = append(args, arg)
	}
	file := func(name string) string { return filepath.Join(c.dir, name) }
	etcd := "--etcd-embedded-tls-"
	if name == "w1" {
		etcd = "--etcd-tls-"
	}
	args = append(args,
		"--http-tls-cert="+file(name+".crt"), "--http-tls-key="+file(name+".key"), "--http-tls-client-ca="+file("ca.crt"),
		etcd+"cert="+file(name+".crt"), etcd+"key="+file(name+".key"), etcd+"ca="+file("ca.crt"))
	if s.optional {
		args = append(args, "--http-tls-optional", "--etcd-embedded-tls-optional")
	}
	if s.mode != "" {
		args = append(args, "--auth-mode="+s.mode, "--auth-file="+file("auth.yaml"))
	}
	return args
}
