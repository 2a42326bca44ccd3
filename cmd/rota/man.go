package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/rota-scheduler/rota/cmd/rota/node"
)

// newManCommand returns the command that writes the manual pages. `make release` packs them.
func newManCommand(*cli) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a manual page for each command into a directory",
		Example: "  rota man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    takes("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			built := node.BuiltVersion() // with the date of the commit, so that two builds of one commit are equal
			header := &doc.GenManHeader{Title: "ROTA", Section: "1", Source: "rota " + built.Version, Manual: "rota", Date: &built.Built}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
