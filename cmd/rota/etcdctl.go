package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// newEtcdctlCommand is etcd's own etcdctl, pointed at this cluster's store.
func newEtcdctlCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "etcdctl [--server URL | --config FILE] ARGS...",
		Short: "etcd's own etcdctl, pointed at this cluster's store",
		Long: `Run etcd's own etcdctl, linked in; ` + "`rota etcdctl help`" + ` lists its commands. The store is that of --server, of --config or at
--endpoints, and without any of them that of ETCDCTL_ENDPOINTS, ROTA_CONFIG, ROTA_SERVER, a local ` + "`rota dev`" + ` or a replica at
` + client.DefaultServer + `. With both --config and --endpoints the file says how to log in, and --endpoints where; with --server
and one of them, nothing is done unless it is the store of that server.

Records are JSON and may be read by anybody. A value that makes no sense is set aside and shown by ` + "`rota status`" + `.`,
		Example: `  rota etcdctl get --prefix /rota/jobs/
  rota etcdctl watch --prefix /rota/runs/`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && isHelp(args[0]) {
				return cmd.Help()
			}
			args, err := c.etcdctlArgs(cmd.Context(), args)
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

// etcdctlArgs adds what is needed to reach the store, unless args or the environment say it as etcd's own do.
func (c *cli) etcdctlArgs(ctx context.Context, args []string) ([]string, error) {
	ours := map[string]string{"--config": "", "--endpoints": "", "--server": "", "--token-file": ""}
	rest, err := takeFlags(args, ours)
	if err != nil {
		return nil, err
	}
	if ofItself(rest) {
		return rest, nil
	}
	file, where := ours["--config"], ours["--endpoints"]
	c.server, c.tokenFile = ours["--server"], ours["--token-file"]
	var endpoints []string
	if where != "" {
		endpoints = strings.Split(where, ",")
	}
	switch {
	case file != "" || c.server != "":
	case where != "" && c.getenv("ROTA_CONFIG") == "":
		return append([]string{"--endpoints=" + where}, rest...), nil
	case where == "" && c.getenv("ETCDCTL_ENDPOINTS") != "":
		return rest, nil
	}
	etcd, err := c.findStore(ctx, file, endpoints)
	if err != nil {
		return nil, err
	}
	flags := []string{"--endpoints=" + strings.Join(etcd.Endpoints, ",")}
	for name, value := range map[string]string{"cert": etcd.TLS.Cert, "key": etcd.TLS.Key, "cacert": etcd.TLS.CA, "user": etcd.Username} {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	if etcd.PasswordFile != "" {
		b, err := os.ReadFile(etcd.PasswordFile)
		if err != nil {
			return nil, &node.ConfigError{Err: fmt.Errorf("read etcd.password_file: %w", err)}
		}
		flags = append(flags, "--password="+strings.TrimRight(string(b), "\r\n"))
	}
	return append(flags, rest...), nil
}

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" }

// ofItself says whether etcdctl is only to tell of itself, for which it needs no store.
func ofItself(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	first := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return first < 0 || slices.Contains([]string{"help", "version", "completion", "options"}, args[first]) || slices.ContainsFunc(args, isHelp)
}

// takeFlags takes the flags that have an entry in ours out of args, and puts their values there. Cobra does not parse the
// flags of this command, since most of them are etcd's.
func takeFlags(args []string, ours map[string]string) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		_, known := ours[name]
		switch {
		case name == "--":
			return append(rest, args[i:]...), nil
		case !known:
			rest = append(rest, args[i])
		case joined:
			ours[name] = value
		case i+1 == len(args):
			return nil, usagef("flag needs an argument: %s", name)
		default:
			i++
			ours[name] = args[i]
		}
	}
	return rest, nil
}
