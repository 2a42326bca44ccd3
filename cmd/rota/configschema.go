package main

import (
	"encoding/json"
	"strings"

	"github.com/rota-scheduler/rota/config"
	"github.com/spf13/cobra"
)

func newConfigSchemaCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KEY]",
		Short: "Print the JSON Schema of job files, or describe one key",
		Long: `Print a JSON Schema, with which editors complete and check job files. Put this on the first line of a job file:

  # yaml-language-server: $schema=rota.schema.json

With KEY, describe one key of a job: its purpose, type, default, range and an example. Dots lead into mappings, as in
retry.max. limits.concurrent is a key of a limit, and notifiers.url one of a notifier. With -o json, print the part of
the schema for that key.`,
		Example: "  rota config schema > rota.schema.json\n  rota config schema retry.max",
		Args:    takes("[KEY]"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				schema := config.Schema()
				return c.print(json.RawMessage(schema), func(p *page) { p.out.Write(schema) })
			}
			key, near, ok := config.Describe(args[0])
			switch {
			case ok:
				return c.print(json.RawMessage(key.Fragment()), func(p *page) { describeKey(p, args[0], &key) })
			case near == nil:
				return usagef("no key %q in a job file: `rota config schema jobs` lists the keys of a job", args[0])
			}
			return usagef("no key %q in a job file: did you mean %s?", args[0], strings.Join(near, " or "))
		},
	}
}

// describeKey prints a key in the manner of kubectl explain.
func describeKey(p *page, path string, k *config.Key) {
	p.facts("KEY", path, "TYPE", k.Type, "RANGE", k.Range, "DEFAULT", k.Default, "EXAMPLE", k.Name+": "+k.Example)
	p.line("\n%s", k.Doc)
	if k.Zero != "" {
		p.line("Without it: %s", strings.ToLower(k.Zero[:1])+k.Zero[1:])
	}
	if k.Keys == nil {
		return
	}
	p.line("\nKEYS:")
	var rows [][]any
	for i := range k.Keys {
		rows = append(rows, []any{"  " + k.Keys[i].Name, k.Keys[i].Type, k.Keys[i].Doc})
	}
	p.table(rows)
}
