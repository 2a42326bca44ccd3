package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

func newConfigCommand(c *cli) *cobra.Command {
	return group(&cobra.Command{
		Use:     "config",
		Short:   "Show the settings of a replica and the schema of job files",
		Example: "  rota config show --config /etc/rota/rota.yaml --origin",
	}, newConfigShowCommand(c), newConfigSchemaCommand(c))
}

func newConfigShowCommand(c *cli) *cobra.Command {
	var file string
	var origin bool
	cmd := &cobra.Command{
		Use:        "show",
		SuggestFor: []string{"view"},
		Short:      "Show the settings of a replica, as YAML",
		Long: `Print the settings that ` + "`rota serve`" + ` would use on this machine. They come from flags, ROTA_… variables, the
file and the defaults; the first of them wins. With --origin, print the source of each value.

If the settings or auth.file have mistakes, or every user can write to node.data_dir, the exit code is 78, as that of
` + "`rota serve`" + `.`,
		Example: "  rota config show --config /etc/rota/rota.yaml --origin",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := config.LoadSettings(c.settingsFile(file), cmd.Flags(), c.environ)
			if err != nil {
				return err
			}
			for _, w := range s.Warnings {
				c.printErr("warning: %s", w)
			}
			if err := c.printSettings(&s, origin); err != nil {
				return err
			}
			if err := c.checkAuthFile(&s); err != nil {
				return err
			}
			return failure.Config(node.CheckOpenDir(s.Node.DataDir))
		},
	}
	config.AddFlags(cmd.Flags())
	addSettingsFlag(cmd, &file, "settings file (ROTA_CONFIG)")
	cmd.Flags().BoolVar(&origin, "origin", false, "print the source of each value")
	return cmd
}

// checkAuthFile returns the mistakes of auth.file, because no process starts with them. It only warns of a file that this user
// cannot read.
func (c *cli) checkAuthFile(s *config.Settings) error {
	if s.Auth.Mode == config.AuthOff {
		return nil
	}
	_, err := config.LoadAuth(s.Auth.File)
	if config.IsUnread(err) {
		c.printErr("warning: %v", err)
		return nil
	}
	return err
}

// addSettingsFlag adds the flag --config. If it were empty, a script with an unset variable would start a process with the default
// settings, as a cluster of its own.
func addSettingsFlag(cmd *cobra.Command, file *string, usage string) {
	cmd.Flags().Var(&givenFlag{file, "a file"}, "config", usage)
}

// settingsFile returns the path of the settings file from the flag, or from the environment; "" for none.
func (c *cli) settingsFile(flag string) string { return cmp.Or(flag, c.getenv("ROTA_CONFIG")) }

// settingList is the data that config show --origin prints.
type settingList struct {
	Settings []settingOrigin `json:"settings"`
}

type settingOrigin struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func (c *cli) printSettings(s *config.Settings, origin bool) error {
	text := s.YAML()
	var tree map[string]any
	if err := yaml.Load(text, &tree); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	if !origin {
		return c.print(tree, func(p *page) { p.out.Write(text) })
	}
	list := settingList{Settings: []settingOrigin{}}
	for key, from := range s.Origins() {
		list.Settings = append(list.Settings, settingOrigin{key, lookup(tree, key), from})
	}
	slices.SortFunc(list.Settings, func(a, b settingOrigin) int { return cmp.Compare(a.Key, b.Key) })
	return c.print(list, func(p *page) {
		rows := [][]any{{"KEY", "VALUE", "ORIGIN"}}
		for _, s := range list.Settings {
			value := s.Value
			if value == nil {
				value = ""
			}
			rows = append(rows, []any{s.Key, value, s.Origin})
		}
		p.table(rows)
	})
}

// lookup returns the value of a key such as node.name in a tree, nil if there is none.
func lookup(tree map[string]any, key string) any {
	name, rest, deeper := strings.Cut(key, ".")
	if !deeper {
		return tree[name]
	}
	below, ok := tree[name].(map[string]any)
	if !ok {
		return nil
	}
	return lookup(below, rest)
}
