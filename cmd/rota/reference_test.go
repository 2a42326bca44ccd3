package main

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/docpage"
)

var update = flag.Bool("update", false, "write the generated part of docs/reference/cli.md")

// TestCLIReference compares the reference page of the command line with the commands of the program.
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

// flagTable returns a table of flags. It leaves out the flags of settings, which have a reference page of their own.
func flagTable(flags *pflag.FlagSet) string {
	var rows strings.Builder
	settings := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if isSetting(f.Name) {
			settings++
		}
	})
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || settings > 1 && isSetting(f.Name) {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) && !strings.Contains(usage, "default") {
			usage += " (default " + f.DefValue + ")"
		}
		short := ""
		if f.Shorthand != "" {
			short = "`-" + f.Shorthand + "`, "
		}
		fmt.Fprintf(&rows, "| %s`--%s` | %s | %s |\n", short, f.Name, name, usage)
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

// isSetting reports whether a flag sets a setting.
func isSetting(name string) bool {
	flags := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.AddFlags(flags)
	return flags.Lookup(name) != nil && name != "jobs"
}

// commandLine finds the command lines of rota in the code blocks of a page.
var commandLine = regexp.MustCompile(`(?m)^ *(?:\$ )?(?:bin/)?rota ([^\n]+)$`)

// TestCommandsInTheDocsExist checks that the command and the flags of each command line in the docs exist.
func TestCommandsInTheDocsExist(t *testing.T) {
	block := regexp.MustCompile("(?ms)^ *```([^\n]*)\n(.*?)^ *```$")
	for _, page := range docPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range block.FindAllStringSubmatch(string(text), -1) {
			if code[1] != "" && code[1] != "sh" {
				continue
			}
			for _, line := range commandLine.FindAllStringSubmatch(code[2], -1) {
				checkCommandLine(t, page, line[1])
			}
		}
	}
}

// docPages returns the paths of the documentation, without the generated reference of the commands.
func docPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../../README.md", "../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, "/cli.md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// checkCommandLine checks the words of a command line. It stops at the first word that belongs to the shell or to another
// program.
func checkCommandLine(t *testing.T, page, line string) {
	t.Helper()
	root := newRoot(&cli{in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now})
	words := strings.Fields(line)
	if end := slices.IndexFunc(words, func(w string) bool { return strings.Trim(w, "|&>#<\\-") == "" || strings.HasPrefix(w, "#") }); end >= 0 {
		words = words[:end]
	}
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root {
		t.Errorf("%s: `rota %s` is no command: %v", page, line, err)
		return
	}
	if cmd.DisableFlagParsing { // the other words belong to another program
		return
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case !strings.HasPrefix(word, "-") || name == "":
		case len(name) == 1 && (cmd.Flags().ShorthandLookup(name) != nil || cmd.InheritedFlags().ShorthandLookup(name) != nil):
		case cmd.Flag(name) == nil:
			t.Errorf("%s: `rota %s`: %s has no flag %s", page, line, cmd.CommandPath(), word)
		}
	}
}
