package node

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
)

// Connections that could not be had are tried again soon: by default gRPC waits for up to two minutes, which is for how long
// nothing would be dispatched after a long outage. An attempt is not waited for longer than etcd is for an answer.
var redial = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 3 * time.Second,
})

// loginTimeout is how long a client waits until etcd has taken its password.
const loginTimeout = 3 * time.Second

// Dial returns a client for the settings' endpoints. It does not wait for an answer, unless it has a password: then it fails if
// no endpoint takes it in time.
func Dial(e config.Etcd) (*clientv3.Client, error) { return dial(e, loginTimeout) }

func dial(e config.Etcd, login time.Duration) (*clientv3.Client, error) {
	cfg := clientv3.Config{
		Endpoints:            e.Endpoints,
		DialTimeout:          login,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		PermitWithoutStream:  true,
		Username:             e.Username,
		DialOptions:          []grpc.DialOption{redial},
		Logger:               zap.NewNop(), // what matters comes back as an error
	}
	var err error
	if cfg.Password, err = password(e); err != nil {
		return nil, err
	}
	if cfg.TLS, err = clientTLS(e.TLS); err != nil {
		return nil, err
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd %s: %w", strings.Join(e.Endpoints, ","), err)
	}
	if cfg.Username != "" {
		election.ReuseStreams(client)
	}
	return client, nil
}

// password is what the settings' file says now; "" if there is none.
func password(e config.Etcd) (string, error) {
	if e.PasswordFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(e.PasswordFile)
	if err != nil {
		return "", badConfig(fmt.Errorf("read etcd.password_file: %w", err))
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// errPassword ends a process that can be started again.
var errPassword = errors.New("etcd takes the password no more with which this process began, and etcd.password_file has another one by now")

// rekeyed says whether etcd has refused our password, and the file has another one, with which a new process may begin.
func (n *Node) rekeyed(refused error) bool {
	if !errors.Is(refused, rpctypes.ErrAuthFailed) && !errors.Is(refused, rpctypes.ErrInvalidAuthToken) {
		return false
	}
	now, err := password(n.set.Etcd)
	return err == nil && now != n.password
}

func clientTLS(t config.ClientTLS) (*tls.Config, error) {
	if t == (config.ClientTLS{}) {
		return nil, nil
	}
	info := transport.TLSInfo{CertFile: t.Cert, KeyFile: t.Key, TrustedCAFile: t.CA}
	c, err := info.ClientConfig()
	if err != nil {
		return nil, badConfig(fmt.Errorf("read etcd.tls: %w", err))
	}
	return c, nil
}
