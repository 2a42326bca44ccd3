package election

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Candidate is the value of an election key. It is for display and routing.
type Candidate struct {
	Node string `json:"node"`
	Addr string `json:"addr"`
	// Since is when the candidate's win was confirmed, by its own clock; zero before that.
	Since time.Time `json:"since,omitzero"`
}

// Holder is the first in the queue when etcd answered.
type Holder struct {
	Term Term
	// Candidate is zero if another program than an Elector wrote the key, such as etcdctl elect.
	Candidate Candidate
	// Value is the raw value of the key.
	Value []byte
}

// Candidates returns the candidates of the election under prefix, the first in the queue first. It omits keys that another
// program than an Elector wrote. The answer may be out of date on arrival. ctx needs no deadline.
func Candidates(ctx context.Context, client *clientv3.Client, prefix string) ([]Candidate, error) {
	resp, err := readElection(ctx, client, prefix,
		clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, err
	}
	var queue []Candidate
	for _, kv := range resp.Kvs {
		if c := decodeCandidate(kv.Value); c.Node != "" {
			queue = append(queue, c)
		}
	}
	return queue, nil
}

// Leader returns the first in the queue of the election under prefix, which ends with a slash; false if the queue is empty. The
// answer may be out of date on arrival. The first candidate may not have confirmed its win yet, or may have stopped already.
// Use the answer for routing and display only, and let the guard of each write decide. ctx needs no deadline.
func Leader(ctx context.Context, client *clientv3.Client, prefix string) (Holder, bool, error) {
	resp, err := readElection(ctx, client, prefix, clientv3.WithFirstCreate()...)
	if err != nil || len(resp.Kvs) == 0 {
		return Holder{}, false, err
	}
	kv := resp.Kvs[0]
	return Holder{Term{Key: string(kv.Key), Rev: kv.CreateRevision}, decodeCandidate(kv.Value), kv.Value}, true, nil
}

// RemoveStale removes the keys that earlier processes called name left under prefix, and returns how many. Then no candidate
// waits for their leases to expire. Before it calls RemoveStale, a process makes sure that no other process has its name.
// If it is wrong, the term of the other process ends early and its later writes are rejected.
func RemoveStale(ctx context.Context, client *clientv3.Client, prefix, name string) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := readElection(ctx, client, prefix, clientv3.WithPrefix())
	if err != nil {
		return 0, err
	}
	for _, kv := range resp.Kvs {
		if decodeCandidate(kv.Value).Node != name {
			continue
		}
		if err := deleteKey(ctx, client, Term{Key: string(kv.Key), Rev: kv.CreateRevision}); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// readElection reads keys of the election under prefix.
func readElection(
	ctx context.Context, client *clientv3.Client, prefix string, opts ...clientv3.OpOption,
) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := client.Get(ctx, prefix, opts...)
	if err != nil {
		return nil, fmt.Errorf("read election %s: %w", prefix, err)
	}
	return resp, nil
}

// decodeCandidate returns the zero Candidate for a value that another program wrote.
func decodeCandidate(value []byte) Candidate {
	var c Candidate
	if json.Unmarshal(value, &c) != nil {
		return Candidate{}
	}
	return c
}

// deleteKey deletes the key of a term if that term still stands. If it does not, the key is deleted already, and that is no
// error.
func deleteKey(ctx context.Context, client *clientv3.Client, t Term) error {
	if _, err := client.Txn(ctx).If(t.Held()).Then(clientv3.OpDelete(t.Key)).Commit(); err != nil {
		return fmt.Errorf("delete election key %s: %w", t.Key, err)
	}
	return nil
}
