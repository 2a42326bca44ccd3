package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/docpage"
)

var update = flag.Bool("update", false, "write the generated part of docs/reference/cli.md")

// TestCLIReference compares the reference of the command line with the tree of commands.
func TestCLIReference(t *testing.T) {
	root := newRoot(&cli{in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now})
	var page strings.Builder
	page.WriteString("## Flags of every command\n\n" + flagTable(root.PersistentFlags()))
	for _, group := range root.Groups() {
		fmt.Fprintf(&page, "\n## %s\n", strings.TrimSuffix(group.Title, ":"))
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID && cmd.IsAvailableCommand() && cmd.Name() != "help" && cmd.Name() != "completion" {
				describe(&page, cmd)
			}
		}
	}
	docpage.Check(t, "../../docs/reference/cli.md", "commands", page.String(), *update)
}

// describe writes the entry of a command, and those of its own commands.
func describe(page *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(page, "\n### `%s`\n\n%s.\n\n```\n%s\n```\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."), cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(page, "\n%s\n", strings.TrimSpace(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(page, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
	if table := flagTable(cmd.LocalNonPersistentFlags()); table != "" {
		page.WriteString("\n" + table)
	}
	for _, sub := range cmd.Commands() {
		describe(page, sub)
	}
}

// flagTable lists flags. The settings, which serve, worker and config show have as flags, have a reference of their own.
func flagTable(flags *pflag.FlagSet) string {
	var rows strings.Builder
	settings := 0
	flags.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help":
		case isSetting(f.Name):
			settings++
		default:
			name, usage := pflag.UnquoteUsage(f)
			short := ""
			if f.Shorthand != "" {
				short = "`-" + f.Shorthand + "`, "
			}
			fmt.Fprintf(&rows, "| %s`--%s` | %s | %s |\n", short, f.Name, name, usage)
		}
	})
	text := ""
	if rows.Len() > 0 {
		text = "| flag | type | meaning |\n|---|---|---|\n" + rows.String()
	}
	if settings > 1 {
		text += "\nEvery [setting](settings.md) is a flag as well.\n"
	}
	return text
}

// isSetting reports whether a flag stands for a setting.
func isSetting(name string) bool {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.AddFlags(flags)
	return flags.Lookup(name) != nil && name != "jobs"
}
