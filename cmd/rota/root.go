package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	groupCluster = "cluster"
	groupJobs    = "jobs"
	groupRuns    = "runs"
	groupTools   = "tools"
)

// newRoot builds the whole tree of commands.
func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "rota",
		Short: "Cron for more than one machine",
		Long: `rota is cron for more than one machine. One leader schedules the runs, any worker executes them. Every slot runs once; a
repeated attempt is always recorded.

Start with:  rota dev`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	// If these two were empty, a script with an unset variable would change another cluster, or as somebody else.
	flags.Var(&givenFlag{&c.server, "a URL"}, "server",
		"URLs of replicas, separated by commas (ROTA_SERVER; default http://127.0.0.1:8470)")
	flags.Var(&givenFlag{&c.tokenFile, "a file"}, "token-file",
		"file with a token that says who you are, - for stdin (ROTA_TOKEN_FILE)")
	flags.StringVar(&c.cacert, "cacert", "", "file with certificate authorities, trusted besides the system's (ROTA_CACERT)")
	flags.StringVar(&c.cert, "cert", "", "file with the client certificate for replicas (ROTA_CERT)")
	flags.StringVar(&c.certKey, "cert-key", "", "file with the key of --cert (ROTA_CERT_KEY)")
	flags.VarP(&c.format, "output", "o", "output format: "+strings.Join(formats(), ", "))
	flags.BoolVar(&c.noColor, "no-color", false, "print without colors (NO_COLOR)")
	// This cannot fail: the flag exists.
	_ = root.RegisterFlagCompletionFunc("output", completeFormats)

	add := func(group, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = group
			root.AddCommand(cmd)
		}
	}
	add(groupCluster, "Cluster:",
		newDevCommand(c), newServeCommand(c), newWorkerCommand(c), newStatusCommand(c), newEventsCommand(c), newIncidentCommand(c),
		newWorkersCommand(c), newLimitsCommand(c), newTopCommand(c), newOpenCommand(c), newLoginCommand(c), newLogoutCommand(c),
		newWhoamiCommand(c), newTokenCommand(c), newPKICommand(c), newAuditCommand(c), newVerifyCommand(c), newDoctorCommand(c),
		newAcceptCommand(c), newEtcdctlCommand(c), newEtcdutlCommand())
	add(groupJobs, "Jobs:",
		newCheckCommand(c), newDiffCommand(c), newApplyCommand(c), newDeleteCommand(c), newExportCommand(c), newImportCommand(c),
		newManCommand(c), newJobsCommand(c), newJobCommand(c), newNextCommand(c), newExplainCommand(c), newGraphCommand(c),
		newPauseCommand(c), newResumeCommand(c))
	add(groupRuns, "Runs:",
		newRunCommand(c), newSubmitCommand(c), newRunsCommand(c), newRunInfoCommand(c), newLogsCommand(c),
		newWaitCommand(c), newApproveCommand(c), newRejectCommand(c), newCancelCommand(c), newRetryCommand(c), newBackfillCommand(c))
	add(groupTools, "Tools:", newConfigCommand(c), newHealthCommand(c), newVersionCommand(c))
	root.AddCommand(newNannyCommand(c))
	root.SetHelpCommandGroupID(groupTools)
	root.SetCompletionCommandGroupID(groupTools)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = nil
			group(cmd)
		case "help":
			refuseUnknown(cmd)
		}
	}
	return root
}

// refuseUnknown makes cobra's help command reject an unknown command, instead of listing all commands.
func refuseUnknown(help *cobra.Command) {
	show := help.Run
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if _, _, err := cmd.Root().Find(args); err != nil {
			return asUsage(err)
		}
		show(cmd, args)
		return nil
	}
}

// run executes one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	defer c.endErr()
	root := newRoot(c)
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetFlagErrorFunc(flagError)
	started := false
	watch(root, &started)

	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = asUsage(err)
	}
	if err != nil {
		err = flagRefused(cmd, err)
		c.report(err, cmd.CommandPath())
	}
	return exitCode(ctx, err)
}

// watch wraps all commands of a tree so that *started becomes true when one of them starts. An error before that comes from cobra
// and is about the command line.
func watch(cmd *cobra.Command, started *bool) {
	if do := cmd.RunE; do != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*started = true
			return do(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		watch(sub, started)
	}
}

// asUsage converts an error of cobra into a usageError. In cobra's text, an empty line stands before the suggestions, one per
// line.
func asUsage(err error) error {
	if _, ok := errors.AsType[usageError](err); ok {
		return err
	}
	msg, suggestions, _ := strings.Cut(err.Error(), "\n\n")
	if hint := foreignCommand(msg); hint != "" {
		return usageError{msg, hint}
	}
	_, names, found := strings.Cut(suggestions, "\n")
	if !found {
		return usageError{msg: msg}
	}
	return usageError{msg, fmt.Sprintf("did you mean %s?", strings.Join(strings.Fields(names), " or "))}
}

// flagError suggests a flag in place of an unknown one: what rota has for a flag of kubectl, or the most similar flag.
func flagError(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Value.Type() == "bool" {
		return usagef("--%s takes no value, or true or false", wrong.GetFlag().Name)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	if hint := foreignFlag(cmd, unknown.GetSpecifiedName()); hint != "" {
		return usageError{err.Error(), hint}
	}
	if len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := suggest.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return usageError{err.Error(), "did you mean --" + near + "?"}
	}
	return err
}

// takes returns a function that checks the number of arguments. names are the names of the arguments: "[JOB]" is optional, and
// "PATH..." may be repeated. It refuses an empty argument, which usually comes from an unset variable in a script. An empty JOB
// would stand for all jobs.
func takes(names ...string) cobra.PositionalArgs {
	least, most := 0, len(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "[") {
			least++
		}
		if strings.HasSuffix(name, "...") {
			most = math.MaxInt
		}
	}
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s: %s is missing", cmd.Name(), strings.TrimSuffix(names[len(args)], "..."))
		case len(args) > most:
			return usageError{fmt.Sprintf("%s: unexpected argument %q", cmd.Name(), args[most]), surplusHint(cmd, args)}
		}
		if i := slices.Index(args, ""); i >= 0 {
			return usagef("%s: %s is empty", cmd.Name(), strings.Trim(names[min(i, len(names)-1)], "[]."))
		}
		return nil
	}
}

// group completes a command that only has subcommands.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %s?", strings.Join(near, " or "))
		}
		return usageError{fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()), hint}
	}
	return cmd
}
