package etcdconn

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

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
)

// redial makes gRPC try a failed connection again after at most 2 s. The default pause grows to two minutes, and rota would not
// dispatch for that time after an outage. The connection timeout is no longer than the timeout of a request to etcd.
var redial = grpc.WithConnectParams(grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 3 * time.Second,
})

// loginTimeout is how long a client waits until etcd accepts its password.
const loginTimeout = 3 * time.Second

// Dial returns a client for the endpoints of the settings. Without a password, Dial returns at once. With a password, it returns
// an error if no endpoint accepts it within loginTimeout.
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
		Logger:               zap.NewNop(), // the client also returns the errors that it would log
	}
	var err error
	if cfg.Password, err = password(e); err != nil {
		return nil, err
	}
	if cfg.TLS, err = clientTLS(e.TLS); err != nil {
		return nil, err
	}
	if e.TLS.CA != "" && overTLS(e.Endpoints) {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithTransportCredentials(newFollowing(cfg.TLS, e.TLS.CA)))
	}
	client, err := clientv3.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd %s: %w", strings.Join(e.Endpoints, ","), err)
	}
	if cfg.Username != "" {
		election.ReuseStreams(client)
		client.Auth = &logins{Auth: client.Auth, now: time.Now, life: client.Ctx}
	}
	return client, nil
}

// password reads the password file of the settings; "" if there is none.
func password(e config.Etcd) (string, error) {
	if e.PasswordFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(e.PasswordFile)
	if err != nil {
		return "", failure.Config(fmt.Errorf("read etcd.password_file: %w", err))
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// ErrPassword means that etcd's password was changed after this process started. A restart helps.
var ErrPassword = errors.New("etcd no longer accepts the password with which this process started, " +
	"and etcd.password_file has another one by now")

// PasswordChanged reports whether etcd refused the password, and the password file has a different one now. refused is etcd's
// error.
func (c *Conn) PasswordChanged(refused error) bool {
	if !errors.Is(refused, rpctypes.ErrAuthFailed) && !errors.Is(refused, rpctypes.ErrInvalidAuthToken) {
		return false
	}
	now, err := password(c.cfg.Etcd)
	return err == nil && now != c.password
}

// clientTLS returns the TLS configuration for connections to etcd; nil for plain text.
func clientTLS(t config.ClientTLS) (*tls.Config, error) {
	if t == (config.ClientTLS{}) {
		return nil, nil
	}
	info := transport.TLSInfo{CertFile: t.Cert, KeyFile: t.Key, TrustedCAFile: t.CA}
	c, err := info.ClientConfig()
	if err != nil {
		return nil, failure.Config(fmt.Errorf("read etcd.tls: %w", err))
	}
	return c, nil
}
