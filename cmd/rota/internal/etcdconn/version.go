package etcdconn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
)

// CheckVersion gets the version of etcd from all endpoints and uses the first answer. It returns a ConfigError if the version has
// bugs that rota cannot work around. It sends all requests at the same time, because an endpoint that does not answer would
// otherwise delay the others.
func CheckVersion(ctx context.Context, client *clientv3.Client) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		endpoint, version string
		err               error
	}
	endpoints := client.Endpoints()
	answers := make(chan answer, len(endpoints))
	for _, ep := range endpoints {
		wg.Go(func() {
			a := answer{endpoint: ep}
			resp, err := client.Status(ctx, ep)
			if a.err = err; err == nil {
				a.version = resp.Version
			}
			answers <- a
		})
	}
	var errs []error
	for range endpoints {
		a := <-answers
		switch {
		case a.err != nil:
			errs = append(errs, a.err)
		case !recent(a.version):
			return failure.Config(fmt.Errorf("etcd %s at %s is too old: it can answer reads with stale data after a pause; "+
				"use 3.5.28, 3.6.9, 3.7 or later", a.version, a.endpoint))
		default:
			return nil
		}
	}
	return errors.Join(errs...)
}

// recent reports whether a version of etcd has the fixes that rota relies on.
func recent(version string) bool { return since(version, map[int]int{5: 28, 6: 9}) }

// CountsNested reports whether a version of etcd counts nested transactions against its quota (etcd's change 22134). All writes
// of rota are nested transactions.
func CountsNested(version string) bool { return since(version, map[int]int{5: 33, 6: 14, 7: 1}) }

// since reports whether a version of etcd has a fix. fixed maps each minor version of etcd 3 to its first patch with the fix.
// Later minor versions have the fix, and earlier ones do not.
func since(version string, fixed map[int]int) bool {
	var v [3]int
	for i, part := range strings.SplitN(strings.SplitN(version, "-", 2)[0], ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return true // if the version is unreadable, assume that it has the fix
		}
		v[i] = n
	}
	if v[0] != 3 {
		return v[0] > 3
	}
	if patch, known := fixed[v[1]]; known {
		return v[2] >= patch
	}
	return v[1] > slices.Max(slices.Collect(maps.Keys(fixed)))
}
