package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/store"
)

const (
	storeTimeout = 5 * time.Second         // for the first answer of etcd
	findTimeout  = 4500 * time.Millisecond // for the answers of a server and of its etcd together; longer than readTimeout
)

// whichStore is the part of help texts that explains how a command chooses the store.
const whichStore = `The store is that of --server or --config, or is at --endpoints. Without these flags the
command uses the first of these that is there: the store of ROTA_CONFIG, the store of ROTA_SERVER, a local ` + "`rota dev`" + `,
the store of a replica at ` + client.DefaultServer + `.
If --server stands beside --config or --endpoints, both must lead to the same store.`

// nameStore is the hint when no store answers.
const nameStore = "start `rota dev`, or name the store with --server, --endpoints or --config"

// addStoreFlags adds the flags that name a store. usage describes --config.
func addStoreFlags(cmd *cobra.Command, file *string, endpoints *[]string, usage string) {
	addSettingsFlag(cmd, file, usage)
	cmd.Flags().StringSliceVar(endpoints, "endpoints", nil, "URLs of etcd")
	flag := cmd.Flags().Lookup("endpoints")
	flag.Value, flag.DefValue = givenList{flag.Value}, ""
}

// givenList is a list of endpoints that refuses empty values, as givenFlag does.
type givenList struct{ pflag.Value }

// Set implements pflag.Value.
func (l givenList) Set(s string) error {
	if slices.Contains(strings.Split(s, ","), "") { // "," is two unset variables of a script
		return emptyFlag("URLs")
	}
	return l.Value.Set(s)
}

// findStore returns the address and the credentials of the store. Endpoints or a settings file have priority over a server, and
// flags over the environment. Without any of them, findStore returns the store of a local `rota dev` or of the default server. If
// --server is also given, the store must belong to that server.
func (c *cli) findStore(ctx context.Context, file string, endpoints []string) (config.Etcd, error) {
	named := file != "" || len(endpoints) > 0
	file = c.settingsFile(file)
	etcd, err := config.LoadEtcd(file, c.environ)
	if err != nil {
		return config.Etcd{}, err
	}
	embedded := len(etcd.Endpoints) == 0 && file != ""
	if embedded && etcd.TLS == (config.ClientTLS{}) {
		etcd.TLS = etcd.Embedded.TLS // a member uses its certificate both as a server and as a client
	}
	switch {
	case config.MixesTLS(endpoints):
		return config.Etcd{}, usageError{"--endpoints has both http:// and https://", "write https:// for all of them or for none"}
	case len(endpoints) > 0:
		etcd.Endpoints = endpoints
	case c.server != "" && !named: // the environment may set credentials, but it has no address
		etcd.Endpoints = nil
	case embedded:
		etcd.Endpoints = []string{etcd.Embedded.Client}
	}
	switch {
	case c.server != "", len(etcd.Endpoints) == 0 && c.getenv("ROTA_SERVER") != "":
		return c.storeOf(ctx, etcd)
	case len(etcd.Endpoints) > 0:
		return etcd, nil
	}
	if dev, ok := c.devStore(); ok && slices.ContainsFunc(dev.Endpoints, reachable) {
		return dev, nil
	}
	if etcd.Endpoints = localStore(); len(etcd.Endpoints) > 0 {
		return etcd, nil
	}
	return c.storeOfDefault(ctx, etcd, client.DefaultServer)
}

// dialStore returns a client of an etcd that answers. It is an error of configuration (failure.IsConfig) if etcd is too old or
// rejects the credentials.
func dialStore(ctx context.Context, etcd config.Etcd) (*clientv3.Client, error) {
	etcdClient, err := etcdconn.Dial(etcd)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if err = etcdconn.CheckVersion(ctx, etcdClient); err != nil {
			_ = etcdClient.Close()
		}
	}
	where := strings.Join(etcd.Endpoints, ", ")
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return nil, &failure.ConfigError{Err: fmt.Errorf("etcd at %s rejects the password of %s: %w", where, etcd.Username, err)}
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return nil, &failure.ConfigError{Err: fmt.Errorf("etcd at %s requires etcd.username and etcd.password_file: %w", where, err)}
	case err != nil:
		return nil, err
	}
	return etcdClient, nil
}

// openStore returns a store whose etcd answers. process names this process in the store. The caller must call done.
func openStore(ctx context.Context, etcd config.Etcd, process string) (s *store.Store, done func(), err error) {
	etcdClient, err := dialStore(ctx, etcd)
	if err != nil {
		return nil, nil, err
	}
	s = store.New(store.Config{Prefix: etcd.Prefix, Process: process}, etcdClient, hclog.NewNullLogger())
	return s, func() { s.Close(); _ = etcdClient.Close() }, nil
}

// devStore returns the store of a `rota dev` that this user runs. It may have ended without removing its record.
func (c *cli) devStore() (config.Etcd, bool) {
	dir := c.stateDir()
	if dir == "" {
		return config.Etcd{}, false
	}
	etcd, err := config.LoadEtcd(filepath.Join(dir, devSettingsFile), nil)
	return etcd, err == nil
}

// reachable reports whether a process listens at an endpoint.
func reachable(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	conn, err := net.DialTimeout("tcp", u.Host, 300*time.Millisecond)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}

// localStore returns the etcd members of a `rota dev` of version 0.1.0 on this machine. They use no TLS.
func localStore() []string {
	all := joined("http", devClientPort, devMaxReplicas)
	return slices.DeleteFunc(all, func(endpoint string) bool { return !reachable(endpoint) })
}
