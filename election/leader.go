package election

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Candidate is the value of an election key: who stands there, for display and routing.
type Candidate struct {
	Node string `json:"node"`
	Addr string `json:"addr"`
	// Since is when the candidate's win was confirmed, by its own clock; zero before that.
	Since time.Time `json:"since,omitzero"`
}

// Holder is the first in the queue, as etcd had it when it was asked.
type Holder struct {
	Term Term
	// Candidate is zero if the key was written by something else than an Elector, such as etcdctl elect.
	Candidate Candidate
	// Value is the key's value as it is.
	Value []byte
}

// Candidates returns those who stand in the election under prefix, the first in the queue first, without those whose keys were
// written by something else than an Elector. The answer may be out of date on arrival. ctx needs no deadline.
func Candidates(ctx context.Context, client *clientv3.Client, prefix string) ([]Candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, fmt.Errorf("read election %s: %w", prefix, err)
	}
	var standing []Candidate
	for _, kv := range resp.Kvs {
		var c Candidate
		if json.Unmarshal(kv.Value, &c) == nil && c.Node != "" {
			standing = append(standing, c)
		}
	}
	return standing, nil
}

// Leader returns who is first in the election under prefix, which ends with a slash; false if nobody stands. The answer may
// be out of date on arrival, and the first may not have confirmed its win yet or may have stopped already: route and
// display by it, and let the guard of each write decide. ctx needs no deadline.
func Leader(ctx context.Context, client *clientv3.Client, prefix string) (Holder, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := client.Get(ctx, prefix, clientv3.WithFirstCreate()...)
	if err != nil {
		return Holder{}, false, fmt.Errorf("read election %s: %w", prefix, err)
	}
	if len(resp.Kvs) == 0 {
		return Holder{}, false, nil
	}
	kv := resp.Kvs[0]
	h := Holder{Term: Term{Key: string(kv.Key), Rev: kv.CreateRevision}, Value: kv.Value}
	if err := json.Unmarshal(kv.Value, &h.Candidate); err != nil {
		h.Candidate = Candidate{} // a stranger's value is no error, and half of one is no candidate
	}
	return h, true, nil
}
