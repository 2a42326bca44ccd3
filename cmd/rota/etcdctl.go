package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
)

// newEtcdctlCommand returns a command that runs etcd's own etcdctl on the store of this cluster.
func newEtcdctlCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "etcdctl [--server URL | --config FILE] ARGS...",
		Short: "Run etcd's own etcdctl on this cluster's store",
		Long: `Run etcd's own etcdctl, which is part of this binary. ` + "`rota etcdctl help`" + ` lists its commands.

` + whichStore + `
ETCDCTL_ENDPOINTS wins over the other variables. If both --config and --endpoints are given, the file has the
credentials, and --endpoints the address.

The commands defrag and compaction may take ten minutes, unless --command-timeout or ETCDCTL_COMMAND_TIMEOUT has another limit.

Records are JSON. rota quarantines an invalid value, and ` + "`rota status`" + ` shows it.`,
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
			// etcdctl reads its arguments from os.Args, and ends the process itself. It does not know the context that a signal
			// ends, so a signal ends the process again.
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			os.Args = append([]string{"etcdctl"}, args...)
			ctlv3.MustStart()
			return nil
		},
	}
}

// etcdctlArgs adds the address and the credentials of the store to args. It does not add an option that args or etcdctl's own
// variables already have.
func (c *cli) etcdctlArgs(ctx context.Context, args []string) ([]string, error) {
	ours := map[string]string{"--config": "", "--endpoints": "", "--server": "", "--token-file": ""}
	rest, err := takeFlags(args, ours)
	if err != nil {
		return nil, err
	}
	if needsNoStore(rest) {
		return rest, nil
	}
	if slow(rest) && c.getenv("ETCDCTL_COMMAND_TIMEOUT") == "" {
		rest = append([]string{"--command-timeout=" + slowTimeout}, rest...)
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
	login := map[string]string{"cert": etcd.TLS.Cert, "key": etcd.TLS.Key, "cacert": etcd.TLS.CA, "user": etcd.Username}
	user := cmp.Or(userIn(rest), c.getenv("ETCDCTL_USER"), etcd.Username)
	for name, value := range login {
		if value != "" && c.getenv("ETCDCTL_"+strings.ToUpper(name)) == "" { // etcdctl refuses a flag beside its variable
			flags = append(flags, "--"+name+"="+value)
		}
	}
	if etcd.PasswordFile != "" && c.getenv("ETCDCTL_PASSWORD") == "" && user == etcd.Username {
		b, err := os.ReadFile(etcd.PasswordFile)
		if err != nil {
			return nil, &failure.ConfigError{Err: fmt.Errorf("read etcd.password_file: %w", err)}
		}
		flags = append(flags, "--password="+strings.TrimRight(string(b), "\r\n"))
	}
	return append(flags, rest...), nil
}

// slowTimeout replaces etcdctl's limit of 5 s, after which it reports a failure while the member still works.
const slowTimeout = "10m"

// slow reports whether args are a command whose duration depends on the size of the store, and have no limit of their own.
func slow(args []string) bool {
	args = options(args)
	limited := slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--command-timeout") })
	return !limited && (slices.Contains(args, "defrag") || slices.Contains(args, "compaction"))
}

// options returns the arguments before "--": those behind it are no options.
func options(args []string) []string {
	if end := slices.Index(args, "--"); end >= 0 {
		return args[:end]
	}
	return args
}

// userIn returns the value of the last --user in args; "" if there is none. The value may have a password.
func userIn(args []string) (user string) {
	args = options(args)
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case name != "--user":
		case joined:
			user = value
		case i+1 < len(args):
			user = args[i+1]
		}
	}
	return user
}

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" }

// needsNoStore reports whether args are an etcdctl command that needs no store, such as help.
func needsNoStore(args []string) bool {
	args = options(args)
	first := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return first < 0 || slices.ContainsFunc(args, isHelp) ||
		slices.Contains([]string{"help", "version", "completion", "options"}, args[first])
}

// takeFlags moves the values of the flags in ours from args to ours, and returns the other arguments. Cobra does not parse the
// flags of this command, because most of them belong to etcdctl.
func takeFlags(args []string, ours map[string]string) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		_, known := ours[name]
		switch {
		case name == "--":
			return append(rest, args[i:]...), nil
		case !known:
			rest = append(rest, args[i])
		case !joined && i+1 == len(args):
			return nil, usagef("flag needs an argument: %s", name)
		default:
			if !joined {
				i++
				value = args[i]
			}
			if value == "" { // usually from an unset variable in a script, which would change another store
				return nil, usagef("%s: %v", name, emptyFlag("a value"))
			}
			ours[name] = value
		}
	}
	return rest, nil
}
