package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os/user"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

// How long a command waits for one server. A change may take as long as the store needs to elect its leader.
const (
	dialTimeout   = 2 * time.Second
	readTimeout   = 4 * time.Second
	changeTimeout = 15 * time.Second
)

// call is the body of a command that asks the cluster. It does not close the client.
type call func(ctx context.Context, cl *client.Client, args []string) error

// reading returns the RunE of a command that only reads. It waits for a server for at most readTimeout.
func (c *cli) reading(do call) func(*cobra.Command, []string) error {
	return c.calling(readTimeout, func(ctx context.Context, cl *client.Client, args []string) error {
		c.pageable = true
		return do(ctx, cl, args)
	})
}

// changing returns the RunE of a command that changes something. It waits for a server for at most changeTimeout.
func (c *cli) changing(do call) func(*cobra.Command, []string) error {
	return c.calling(changeTimeout, func(ctx context.Context, cl *client.Client, args []string) error {
		c.altering = true
		return do(ctx, cl, args)
	})
}

func (c *cli) calling(timeout time.Duration, do call) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cl, err := c.client(timeout)
		if err != nil {
			return err
		}
		defer cl.Close()
		return withoutType(cmd, args, do(cmd.Context(), cl, args))
	}
}

// show returns a call that gets one answer and prints it. write prints it for people; the other formats print it as data.
func show[T any](
	c *cli, get func(ctx context.Context, cl *client.Client, args []string) (T, error), write func(p *page, v *T),
) call {
	return func(ctx context.Context, cl *client.Client, args []string) error {
		v, err := get(ctx, cl, args)
		return answered(c, write, v, err)
	}
}

// answered prints an answer as show does. It returns err if there is one.
func answered[T any](c *cli, write func(p *page, v *T), v T, err error) error {
	if err != nil {
		return err
	}
	return c.print(v, func(p *page) { write(p, &v) })
}

// client returns a client of the servers that the flags or the environment name. The caller closes it.
func (c *cli) client(timeout time.Duration) (*client.Client, error) {
	servers := cmp.Or(c.server, c.getenv("ROTA_SERVER"))
	tokenFile, token, err := c.findToken(servers)
	if err != nil {
		return nil, err
	}
	if servers == "" && tokenFile == "" && c.socketServes(token) {
		servers = "unix://" + serviceSocket
	}
	return c.clientOf(servers, tokenFile, token, timeout)
}

// serverToken returns the token for a server; empty: none.
type serverToken = func(ctx context.Context, server string) (string, error)

// clientOf returns a client of servers. tokenFile may be empty, and token may be nil.
func (c *cli) clientOf(servers, tokenFile string, token serverToken, timeout time.Duration) (*client.Client, error) {
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	return c.clientOver(newTransport(credentials), servers, tokenFile, token, timeout)
}

// newTransport returns a transport that does not wait long for a connection. credentials may be nil.
func newTransport(credentials *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:     credentials,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
	}
}

// clientOver is clientOf with another transport.
func (c *cli) clientOver(
	over *http.Transport, servers, tokenFile string, token serverToken, timeout time.Duration,
) (*client.Client, error) {
	cl, err := client.New(client.Config{
		Servers:   servers,
		TokenFile: tokenFile,
		Token:     token,
		By:        whoami(),
		Agent:     "rota/" + node.BuiltVersion().Version,
		Timeout:   timeout,
		Stale:     c.sayStale(),
		Known:     c.knownServers(servers),
		Learn:     c.learnServers(servers),
		Moved:     c.sayMoved(),
		Transport: over,
	})
	if err != nil {
		return nil, usageError{err.Error(), ""}
	}
	return cl, nil
}

// sayStale returns a function that says once that the answers of a replica may be outdated.
func (c *cli) sayStale() func(server string, age time.Duration) {
	var once sync.Once
	return func(server string, age time.Duration) {
		once.Do(func() {
			c.printNote("%s has not heard from the store for %s, so its answer may be that old; `rota status` says why", server, age)
		})
	}
}

// whoami returns the name of the user, for records of changes. If it is empty, records show the client's address.
func whoami() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
