package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"

	"github.com/rota-scheduler/rota/config"
)

// newEtcdctlCommand is etcd's own etcdctl, pointed at this cluster's store.
func newEtcdctlCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "etcdctl [--config FILE] ARGS...",
		Short: "etcd's own etcdctl, pointed at this cluster's store",
		Long: `Run etcd's own etcdctl, linked in. Without --endpoints, --config or ETCDCTL_ENDPOINTS it finds a local ` + "`rota dev`" + `.
With both --config and --endpoints the file says how to log in, and --endpoints where.

Records are JSON and may be read by anybody. A value that makes no sense is set aside and shown by ` + "`rota status`" + `.`,
		Example: `  rota etcdctl get --prefix /rota/jobs/
  rota etcdctl watch --prefix /rota/runs/`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := c.etcdctlArgs(args)
			if err != nil {
				return err
			}
			// etcdctl reads its arguments from there, and ends the process by itself.
			os.Args = append([]string{"etcdctl"}, args...)
			ctlv3.MustStart()
			return nil
		},
	}
}

// etcdctlArgs adds what is needed to reach the store, unless args say it.
func (c *cli) etcdctlArgs(args []string) ([]string, error) {
	var rest, endpoints []string // endpoints: as args name them
	file := ""
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			rest = append(rest, args[i:]...)
			i = len(args)
		case args[i] == "--config" && i+1 < len(args):
			i++
			file = args[i]
		case strings.HasPrefix(args[i], "--config="):
			file = strings.TrimPrefix(args[i], "--config=")
		case args[i] == "--endpoints" && i+1 < len(args):
			endpoints = args[i : i+2]
			i++
		case strings.HasPrefix(args[i], "--endpoints="):
			endpoints = args[i : i+1]
		default:
			rest = append(rest, args[i])
		}
	}
	if file == "" && (len(endpoints) > 0 || c.getenv("ETCDCTL_ENDPOINTS") != "") {
		return slices.Concat(endpoints, rest), nil
	}
	etcd, err := c.findStore(file, nil)
	if err != nil {
		return nil, err
	}
	flags := slices.Clone(endpoints)
	if len(flags) == 0 {
		flags = []string{"--endpoints=" + strings.Join(etcd.Endpoints, ",")}
	}
	for name, value := range map[string]string{"cert": etcd.TLS.Cert, "key": etcd.TLS.Key, "cacert": etcd.TLS.CA, "user": etcd.Username} {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	if etcd.PasswordFile != "" {
		b, err := os.ReadFile(etcd.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("read etcd.password_file: %w", err)
		}
		flags = append(flags, "--password="+strings.TrimRight(string(b), "\r\n"))
	}
	return append(flags, rest...), nil
}

// findStore says how the store is reached: by endpoints, by a settings file, or as that of a local `rota dev`.
func (c *cli) findStore(file string, endpoints []string) (config.Etcd, error) {
	if len(endpoints) == 0 && file == "" && c.getenv("ROTA_ETCD_ENDPOINTS") == "" {
		if server := cmp.Or(c.server, c.getenv("ROTA_SERVER")); elsewhere(server) {
			return config.Etcd{}, usageError{"this reads the store itself, and cannot ask " + server + " for it",
				"name that cluster's etcd with --endpoints or --config"}
		}
		local := localStore()
		if len(local) == 0 {
			return config.Etcd{}, &codedError{exitUnavailable, "start `rota dev`, or name the store with --endpoints or --config",
				fmt.Errorf("no etcd of a local `rota dev` answers at 127.0.0.1:%d", devClientPort)}
		}
		endpoints = local
	}
	set, err := config.LoadSettings(file, nil, c.environ)
	if err != nil {
		return config.Etcd{}, err
	}
	switch {
	case len(endpoints) > 0:
		set.Etcd.Endpoints = endpoints
	case len(set.Etcd.Endpoints) == 0:
		set.Etcd.Endpoints = []string{set.Etcd.Embedded.Client}
	}
	return set.Etcd, nil
}

// elsewhere says whether one of the servers is none of this machine's loopback: what is asked for is then not a local
// `rota dev`.
func elsewhere(servers string) bool {
	for server := range strings.SplitSeq(servers, ",") {
		host := strings.TrimSpace(server)
		if _, rest, ok := strings.Cut(host, "://"); ok {
			host = rest
		}
		if u, err := url.Parse("http://" + host); err == nil {
			host = u.Hostname()
		}
		if ip := net.ParseIP(host); host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return true
		}
	}
	return false
}

// localStore returns the etcd members of a `rota dev` on this machine.
func localStore() (endpoints []string) {
	for i := range devMaxReplicas {
		addr := fmt.Sprintf("127.0.0.1:%d", devClientPort+i)
		conn, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			continue
		}
		conn.Close()
		endpoints = append(endpoints, "http://"+addr)
	}
	return endpoints
}
