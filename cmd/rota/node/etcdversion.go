package node

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
)

// OldEtcdError is an etcd that has bugs which rota cannot make up for.
type OldEtcdError struct{ Endpoint, Version string }

func (e *OldEtcdError) Error() string {
	return fmt.Sprintf("etcd %s at %s is too old: it can answer reads with stale data after a pause; use 3.5.28, 3.6.9, 3.7 or later",
		e.Version, e.Endpoint)
}

// CheckVersion asks all endpoints for their version, until one answers, and refuses one that is too old. Side by side: one that
// does not answer would use up the time of those after it.
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
			return &OldEtcdError{Endpoint: a.endpoint, Version: a.version}
		default:
			return nil
		}
	}
	return errors.Join(errs...)
}

// recent says whether a version has the fixes that rota relies on.
func recent(version string) bool { return since(version, map[int]int{5: 28, 6: 9}) }

// counts says whether an etcd of a version counts against its quota what is written by transactions within others, as all that
// rota writes is (etcd's change 22134).
func counts(version string) bool { return since(version, map[int]int{5: 33, 6: 14, 7: 1}) }

// since says whether a version of etcd has a fix that is in these: fixed has the first patch of each minor version of 3. Later ones
// have it, and earlier ones have not.
func since(version string, fixed map[int]int) bool {
	var v [3]int
	for i, part := range strings.SplitN(strings.SplitN(version, "-", 2)[0], ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return true // a version that we cannot read is not one that we know to be bad
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
