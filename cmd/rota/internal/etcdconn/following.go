package etcdconn

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"

	"github.com/rota-scheduler/rota/cmd/rota/internal/trust"
)

// following is TLS to etcd that reads the authority of etcd again for each connection. So a process reaches members whose
// certificates another authority has signed since the process started. It is safe for concurrent use.
type following struct {
	credentials.TransportCredentials // of cfg
	cfg                              *tls.Config
	ca                               *trust.File
}

// newFollowing returns TLS with the configuration cfg and the authorities in a file.
func newFollowing(cfg *tls.Config, file string) *following {
	f := &following{credentials.NewTLS(cfg), cfg, trust.NewFile("etcd.tls.ca", file)}
	_, _ = f.ca.Read() // the authorities of the start count if the file breaks before the first connection
	return f
}

func (f *following) ClientHandshake(ctx context.Context, name string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	of, err := f.ca.Read()
	if err != nil {
		return nil, nil, err
	}
	cfg := f.cfg.Clone()
	cfg.RootCAs = of.Own
	return credentials.NewTLS(cfg).ClientHandshake(ctx, name, conn)
}

func (f *following) Clone() credentials.TransportCredentials {
	return &following{f.TransportCredentials.Clone(), f.cfg, f.ca}
}

// overTLS reports whether a client with TLS uses it for these endpoints. The first one decides for all.
func overTLS(endpoints []string) bool {
	scheme, _, found := strings.Cut(endpoints[0], "://")
	return !found || scheme == "https" || scheme == "unixs"
}
