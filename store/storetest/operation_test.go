package storetest

import (
	"fmt"

	"pgregory.net/rapid"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// operation is one step of the differential test, for both sides.
type operation struct {
	name    string
	settles bool // before it, every watch must have received all events
	do      func(*side) string
}

func (g *generator) op(depth int) named[clientv3.Op] {
	n := 3
	if depth > 0 {
		n = 5
	}
	switch g.pick("op", n) {
	case 0:
		return g.get()
	case 1:
		return g.put()
	case 2:
		return g.delete()
	}
	return g.txn(depth - 1)
}

func (g *generator) put() named[clientv3.Op] {
	key, value := g.key(), rapid.SampledFrom([]string{"", "1", "2", "33"}).Draw(g.T, "value")
	var opts []opt
	if lease := g.leaseIndex(); lease > 0 && g.one("leased") {
		opts = append(opts, opt{fmt.Sprint("L", lease), func(s *side) clientv3.OpOption { return clientv3.WithLease(s.lease(lease)) }})
	}
	if g.one("prev") {
		opts = append(opts, constant("prev", clientv3.WithPrevKV()))
	}
	if value == "" && g.rare("ignore value") {
		opts = append(opts, constant("ignore-value", clientv3.WithIgnoreValue()))
	}
	if len(opts) == 0 && g.rare("ignore lease") {
		opts = append(opts, constant("ignore-lease", clientv3.WithIgnoreLease()))
	}
	return named[clientv3.Op]{fmt.Sprintf("put %s=%q(%s)", key, value, words(opts)), func(s *side) clientv3.Op {
		return clientv3.OpPut(key, value, materialize(s, opts)...)
	}}
}

func (g *generator) delete() named[clientv3.Op] {
	key, opts := g.key(), g.extent()
	if key == "" {
		opts = nil // an empty key with a range would delete the whole store
	}
	if g.one("prev") {
		opts = append(opts, constant("prev", clientv3.WithPrevKV()))
	}
	return named[clientv3.Op]{fmt.Sprintf("delete %s(%s)", key, words(opts)), func(s *side) clientv3.Op {
		return clientv3.OpDelete(key, materialize(s, opts)...)
	}}
}

func (g *generator) get() named[clientv3.Op] {
	key, opts := g.key(), g.extent()
	if key == "" {
		opts = nil
	}
	revisioned := func(name string, with func(int64) clientv3.OpOption) {
		if rev := g.revision(); rev > 0 && g.rare(name) {
			opts = append(opts, opt{fmt.Sprintf("%s %d", name, rev), func(s *side) clientv3.OpOption { return with(s.rev(rev)) }})
		}
	}
	revisioned("rev", clientv3.WithRev)
	revisioned("min-mod", clientv3.WithMinModRev)
	revisioned("max-mod", clientv3.WithMaxModRev)
	revisioned("min-create", clientv3.WithMinCreateRev)
	revisioned("max-create", clientv3.WithMaxCreateRev)
	if g.one("limited") {
		limit := int64(g.pick("limit", 4))
		opts = append(opts, constant(fmt.Sprint("limit ", limit), clientv3.WithLimit(limit)))
	}
	if g.one("sorted") {
		target, order := clientv3.SortTarget(g.pick("target", 5)), clientv3.SortOrder(g.pick("order", 3))
		opts = append(opts, constant(fmt.Sprintf("sort %d %d", target, order), clientv3.WithSort(target, order)))
	}
	if g.rare("keys only") {
		opts = append(opts, constant("keys-only", clientv3.WithKeysOnly()))
	}
	if g.rare("count only") {
		opts = append(opts, constant("count-only", clientv3.WithCountOnly()))
	}
	return named[clientv3.Op]{fmt.Sprintf("get %s(%s)", key, words(opts)), func(s *side) clientv3.Op {
		return clientv3.OpGet(key, materialize(s, opts)...)
	}}
}

func (g *generator) guard() named[clientv3.Cmp] {
	key := g.key()
	sign := rapid.SampledFrom([]string{"=", "!=", "<", ">"}).Draw(g.T, "sign")
	var name string
	var make func(*side) clientv3.Cmp
	switch g.pick("target", 5) {
	case 0:
		rev := g.revision()
		name, make = fmt.Sprintf("create %s%d", sign, rev), func(s *side) clientv3.Cmp {
			return clientv3.Compare(clientv3.CreateRevision(key), sign, s.rev(rev))
		}
	case 1:
		rev := g.revision()
		name, make = fmt.Sprintf("mod %s%d", sign, rev), func(s *side) clientv3.Cmp {
			return clientv3.Compare(clientv3.ModRevision(key), sign, s.rev(rev))
		}
	case 2:
		v := g.pick("version", 3)
		name, make = fmt.Sprintf("version %s%d", sign, v), func(*side) clientv3.Cmp {
			return clientv3.Compare(clientv3.Version(key), sign, v)
		}
	case 3:
		v := rapid.SampledFrom([]string{"", "1", "2"}).Draw(g.T, "value")
		name, make = fmt.Sprintf("value %s%q", sign, v), func(*side) clientv3.Cmp {
			return clientv3.Compare(clientv3.Value(key), sign, v)
		}
	default:
		if sign != "=" {
			sign = "!=" // the order of lease ids has no meaning
		}
		lease := g.leaseIndex()
		name, make = fmt.Sprintf("lease %sL%d", sign, lease), func(s *side) clientv3.Cmp {
			return clientv3.Compare(clientv3.LeaseValue(key), sign, s.lease(lease))
		}
	}
	reach := ""
	if g.rare("range") && key != "" {
		reach = " prefix"
	}
	return named[clientv3.Cmp]{key + reach + " " + name, func(s *side) clientv3.Cmp {
		if reach != "" {
			return make(s).WithPrefix()
		}
		return make(s)
	}}
}

func (g *generator) txn(depth int) named[clientv3.Op] {
	var guards []named[clientv3.Cmp]
	for range g.pick("guards", 3) {
		guards = append(guards, g.guard())
	}
	branch := func(label string) (ops []named[clientv3.Op]) {
		for range g.pick(label, 4) {
			ops = append(ops, g.op(depth))
		}
		return ops
	}
	then, otherwise := branch("then"), branch("else")
	return named[clientv3.Op]{
		fmt.Sprintf("txn{if %s then %s else %s}", words(guards), words(then), words(otherwise)),
		func(s *side) clientv3.Op {
			return clientv3.OpTxn(materialize(s, guards), materialize(s, then), materialize(s, otherwise))
		},
	}
}

// plain makes a key-value operation one step of the test.
func plain(n named[clientv3.Op]) operation {
	return operation{name: n.name, do: func(s *side) string { return s.answer(s.Do(s.ctx, n.on(s))) }}
}

func (g *generator) operation() operation {
	switch g.pick("step", 16) {
	case 0:
		return operation{name: "grant", do: func(s *side) string {
			r, err := s.Grant(s.ctx, 1000)
			if err != nil {
				return err.Error()
			}
			s.leases = append(s.leases, r.ID)
			return fmt.Sprintf("grant%s %d", s.header(r.ResponseHeader), r.TTL)
		}}
	case 1:
		lease := g.leaseIndex()
		return operation{name: fmt.Sprint("revoke L", lease), do: func(s *side) string {
			r, err := s.Revoke(s.ctx, s.lease(lease))
			if err != nil {
				return fmt.Sprintf("%T %v", err, err)
			}
			return "revoke" + s.header(r.Header)
		}}
	case 2:
		lease := g.leaseIndex()
		return operation{name: fmt.Sprint("ttl L", lease), do: func(s *side) string {
			return s.timeToLive(s.TimeToLive(s.ctx, s.lease(lease), clientv3.WithAttachedKeys()))
		}}
	case 3:
		lease := g.leaseIndex()
		return operation{name: fmt.Sprint("keepalive L", lease), do: func(s *side) string {
			r, err := s.KeepAliveOnce(s.ctx, s.lease(lease))
			if err != nil {
				return fmt.Sprintf("%T %v", err, err)
			}
			return fmt.Sprintf("keepalive%s %d", s.header(r.ResponseHeader), r.TTL)
		}}
	case 4:
		rev := max(g.revision(), 1)
		return operation{name: fmt.Sprint("compact ", rev), settles: true, do: func(s *side) string {
			r, err := s.Compact(s.ctx, s.rev(rev), clientv3.WithCompactPhysical())
			if err != nil {
				return fmt.Sprintf("%T %v", err, err)
			}
			return "compact" + s.header(r.Header)
		}}
	case 5, 6:
		return g.watch()
	case 7, 8:
		return plain(g.get())
	case 9, 10:
		return plain(g.put())
	case 11:
		return plain(g.delete())
	}
	return plain(g.txn(2))
}

func (g *generator) watch() operation {
	key, opts := g.key(), g.extent()
	if key == "" {
		key = prefix
	}
	rev := rapid.Int64Range(0, g.side.now()+4).Draw(g.T, "from")
	g.furthest = max(g.furthest, rev)
	opts = append(opts, opt{fmt.Sprint("from ", rev), func(s *side) clientv3.OpOption { return clientv3.WithRev(s.rev(rev)) }})
	if g.one("prev") {
		opts = append(opts, constant("prev", clientv3.WithPrevKV()))
	}
	switch g.pick("filter", 6) {
	case 0:
		opts = append(opts, constant("no put", clientv3.WithFilterPut()))
	case 1:
		opts = append(opts, constant("no delete", clientv3.WithFilterDelete()))
	}
	return operation{name: fmt.Sprintf("watch %s(%s)", key, words(opts)), do: func(s *side) string {
		s.watch(key, materialize(s, opts)...)
		return "watching"
	}}
}
