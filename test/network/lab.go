package network

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/test/cluster"
)

// Lab is a set of hosts on one bridge.
type Lab struct {
	Gateway string // the test's address on the bridge

	t      testing.TB
	number int
	hosts  []*Host
}

// Host is one network namespace.
type Host struct {
	Name string
	Addr string

	lab       *Lab
	namespace string
}

// New makes a lab with hosts of these names. It is removed when the test ends. From then on the temporary directories of the
// test are in memory if there is room: a slow disk would disturb these tests of links.
func New(t testing.TB, names ...string) *Lab {
	t.Helper()
	require(t)
	number, free, err := take()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{t: t, number: number, Gateway: fmt.Sprintf("10.213.%d.254", number)}
	t.Cleanup(func() { // after the clean-ups that end the processes
		l.checkEmpty()
		if err := free(); err != nil {
			t.Error(err)
		}
	})
	if dir, err := memoryDir(number); err == nil {
		t.Setenv("TMPDIR", dir)
	} else {
		t.Logf("data lies on disk, since %v", err)
	}
	l.build(names)
	return l
}

// build makes the hosts and the switch. The switch has its own namespace, so that no packet filter of this machine sees the
// traffic.
func (l *Lab) build(names []string) {
	l.t.Helper()
	bridge, cable := namespace(l.number, "switch"), fmt.Sprintf("rota%d", l.number)
	l.ip("netns add %s", bridge)
	l.ip("-n %s link add br0 type bridge", bridge)
	l.ip("-n %s link set br0 up", bridge)
	l.ip("link add name %s type veth peer name root netns %s", cable, bridge)
	l.ip("addr add %s/24 dev %s", l.Gateway, cable)
	l.ip("link set dev %s up", cable)
	l.ip("-n %s link set root master br0 up", bridge)
	for i, name := range names {
		h := &Host{Name: name, Addr: fmt.Sprintf("10.213.%d.%d", l.number, i+1), lab: l, namespace: namespace(l.number, name)}
		l.hosts = append(l.hosts, h)
		l.ip("netns add %s", h.namespace)
		l.ip("-n %s link set lo up", h.namespace)
		l.ip("-n %s link add name %s type veth peer name eth0 netns %s", bridge, name, h.namespace)
		l.ip("-n %s link set dev %s master br0 up", bridge, name)
		l.ip("-n %s addr add %s/24 dev eth0", h.namespace, h.Addr)
		l.ip("-n %s link set eth0 up", h.namespace)
	}
}

func (l *Lab) ip(format string, args ...any) {
	l.t.Helper()
	if _, err := run("ip", strings.Fields(fmt.Sprintf(format, args...))...); err != nil {
		l.t.Fatal(err)
	}
}

// Host returns the host with a name.
func (l *Lab) Host(name string) *Host {
	l.t.Helper()
	for _, h := range l.hosts {
		if h.Name == name {
			return h
		}
	}
	l.t.Fatalf("the lab has no host %s", name)
	return nil
}

// Hosts returns the hosts with these names, or all, in the form of package cluster.
func (l *Lab) Hosts(names ...string) (hosts []cluster.Host) {
	l.t.Helper()
	for _, h := range l.pick(names) {
		hosts = append(hosts, cluster.Host{Name: h.Name, Addr: h.Addr, Exec: []string{"ip", "netns", "exec", h.namespace}})
	}
	return hosts
}

func (l *Lab) pick(names []string) []*Host {
	l.t.Helper()
	if len(names) == 0 {
		return l.hosts
	}
	var hosts []*Host
	for _, name := range names {
		hosts = append(hosts, l.Host(name))
	}
	return hosts
}

// checkEmpty checks that no process is left in the lab.
func (l *Lab) checkEmpty() {
	for _, h := range l.hosts {
		left := ""
		if !cluster.Within(leaveTime, func() bool { left = inhabitants(h.namespace); return left == "" }) {
			l.t.Errorf("processes live on on host %s: %s", h.Name, left)
		}
	}
}

// require skips the test where no lab can be made, and fails it if ROTA_CI=1.
func require(t testing.TB) {
	t.Helper()
	err := possible()
	switch {
	case err == nil:
	case os.Getenv("ROTA_CI") == "1":
		t.Fatalf("NO LINKS ARE CUT: %v", err)
	default:
		t.Skipf("NO LINKS ARE CUT: %v", err)
	}
}

// possible returns an error that names the thing which this machine lacks for a lab; nil: it can make a lab. It makes a
// namespace and reads the filters in it.
func possible() error {
	if os.Geteuid() != 0 {
		return errors.New("namespaces and packet filters need root")
	}
	probe := fmt.Sprintf("rota-probe-%d", os.Getpid())
	if _, err := run("ip", "netns", "add", probe); err != nil {
		return err
	}
	_, err := run("ip", "netns", "exec", probe, "iptables", "-w", "-nL")
	_, deleted := run("ip", "netns", "delete", probe)
	return errors.Join(err, deleted)
}

// run runs a program to its end and returns its output.
func run(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}
