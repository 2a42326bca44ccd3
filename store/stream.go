package store

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// ownStream gives the watch that is opened with it a stream of its own. The client puts watches with equal metadata on one
// stream: one that hangs is not replaced as long as another watch is on it, etcd answers RequestProgress only when all of
// them are up to date, and the client sends the answer to all and panics if one of them is just being canceled by the
// server.
func (s *Store) ownStream(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "rota-stream", s.ops.next())
}
