package storetest

import (
	"strings"

	"pgregory.net/rapid"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func (o operation) String() string { return o.name }

// generator draws operations, which may depend on earlier operations.
type generator struct {
	*rapid.T
	side     *side // the store with the earlier revisions and leases
	furthest int64 // the highest revision at which a watch begins
}

func (g *generator) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(g.T, label) }
func (g *generator) one(label string) bool        { return rapid.Bool().Draw(g.T, label) }
func (g *generator) rare(label string) bool       { return g.pick(label, 8) == 7 }

func (g *generator) key() string {
	if g.pick("empty", 1000) == 999 {
		return ""
	}
	return g.present()
}

// present draws a key that is not empty.
func (g *generator) present() string {
	return prefix + rapid.SampledFrom([]string{"a", "a/1", "a/2", "b", "b0", "c"}).Draw(g.T, "key")
}

func (g *generator) revision() int64 {
	return rapid.Int64Range(0, g.side.now()+1).Draw(g.T, "rev")
}

func (g *generator) leaseIndex() int {
	n := len(g.side.leases)
	if g.pick("unknown lease", 30) == 29 {
		return n + 1
	}
	return rapid.IntRange(0, n).Draw(g.T, "lease")
}

// named is an operation, a guard or an option: its text, and a function that
// makes it for one side.
type named[T any] struct {
	name string
	on   func(*side) T
}

func constant[T any](name string, v T) named[T] {
	return named[T]{name, func(*side) T { return v }}
}

func materialize[T any](s *side, list []named[T]) []T {
	var out []T
	for _, n := range list {
		out = append(out, n.on(s))
	}
	return out
}

func words[T any](list []named[T]) string {
	var out []string
	for _, n := range list {
		out = append(out, n.name)
	}
	return strings.Join(out, " ")
}

type opt = named[clientv3.OpOption]

// extent draws the options that make a range out of a key.
func (g *generator) extent() []opt {
	switch g.pick("extent", 5) {
	case 0:
		return []opt{constant("prefix", clientv3.WithPrefix())}
	case 1:
		// The end must not be empty: in process, etcd treats an empty end as no
		// upper bound; over the network, as no range.
		end := g.present()
		return []opt{constant("to "+end, clientv3.WithRange(end))}
	case 2:
		return []opt{constant("to end", clientv3.WithRange(prefix+"~"))}
	}
	return nil
}
