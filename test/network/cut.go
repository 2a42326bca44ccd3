package network

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Cut is a set of packet filters that were installed together.
type Cut struct {
	t     testing.TB
	what  string
	rules []rule
}

// rule drops packets in one host.
type rule struct {
	host *Host
	args string // the arguments of iptables: the chain and everything after it
}

// CutOneWay drops the packets from hosts in from to hosts in to. The other direction stays open.
func (l *Lab) CutOneWay(from, to []string) *Cut {
	l.t.Helper()
	c := &Cut{t: l.t, what: fmt.Sprintf("%s to %s", strings.Join(from, ","), strings.Join(to, ","))}
	c.oneWay(l.pick(from), l.pick(to))
	return c.apply()
}

// Split cuts all links between two sides in both directions.
func (l *Lab) Split(a, b []string) *Cut {
	l.t.Helper()
	c := &Cut{t: l.t, what: fmt.Sprintf("%s from %s", strings.Join(a, ","), strings.Join(b, ","))}
	c.oneWay(l.pick(a), l.pick(b))
	c.oneWay(l.pick(b), l.pick(a))
	return c.apply()
}

// Vanish cuts hosts off from everything, including the test, as if their machines had lost power: no connection is refused.
func (l *Lab) Vanish(names ...string) *Cut {
	l.t.Helper()
	c := &Cut{t: l.t, what: strings.Join(names, ",") + " from everything"}
	for _, h := range l.pick(names) {
		c.rules = append(c.rules, rule{h, "INPUT -i eth0"}, rule{h, "OUTPUT -o eth0"})
	}
	return c.apply()
}

// Blackhole drops the packets of a host to a TCP port of the test.
func (l *Lab) Blackhole(host string, port int) *Cut {
	l.t.Helper()
	c := &Cut{t: l.t, what: fmt.Sprintf("%s from %s:%d", host, l.Gateway, port)}
	c.rules = append(c.rules, rule{l.Host(host), fmt.Sprintf("OUTPUT -p tcp -d %s --dport %d", l.Gateway, port)})
	return c.apply()
}

// Others returns the names of the other hosts.
func (l *Lab) Others(names ...string) (others []string) {
	without := strings.Join(names, " ") + " "
	for _, h := range l.hosts {
		if !strings.Contains(" "+without, " "+h.Name+" ") {
			others = append(others, h.Name)
		}
	}
	return others
}

func (c *Cut) oneWay(from, to []*Host) {
	for _, b := range to {
		for _, a := range from {
			c.rules = append(c.rules, rule{b, "INPUT -s " + a.Addr})
		}
	}
}

// apply installs the filters. Filters that a failed test leaves behind end with their hosts.
func (c *Cut) apply() *Cut {
	c.t.Helper()
	for _, r := range c.rules {
		if err := r.iptables("-A"); err != nil {
			c.t.Fatal(err)
		}
	}
	c.t.Logf("cut: %s", c.what)
	return c
}

// Heal removes the filters, and fails the test if they dropped nothing.
func (c *Cut) Heal() {
	c.t.Helper()
	held := c.Held()
	for _, r := range c.rules {
		if err := r.iptables("-D"); err != nil {
			c.t.Fatal(err)
		}
	}
	c.t.Logf("healed: %s: %d packets were held back", c.what, held)
	if held == 0 {
		c.t.Errorf("cut %s: no packet was held back: the fault took no effect", c.what)
	}
}

// Held counts the packets dropped so far.
func (c *Cut) Held() (packets int) {
	c.t.Helper()
	counted := make(map[*Host]bool)
	for _, r := range c.rules {
		if counted[r.host] {
			continue
		}
		counted[r.host] = true
		for _, chain := range []string{"INPUT", "OUTPUT"} {
			out, err := run("ip", "netns", "exec", r.host.namespace, "iptables", "-w", "-nvxL", chain)
			if err != nil {
				c.t.Fatal(err)
			}
			for line := range strings.Lines(out) {
				if f := strings.Fields(line); len(f) > 2 && f[2] == "DROP" {
					n, _ := strconv.Atoi(f[0]) // 0 if it is no number
					packets += n
				}
			}
		}
	}
	return packets
}

func (r rule) iptables(how string) error {
	args := append([]string{"netns", "exec", r.host.namespace, "iptables", "-w", how}, strings.Fields(r.args)...)
	_, err := run("ip", append(args, "-j", "DROP")...)
	return err
}
