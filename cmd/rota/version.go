package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// versionView is the data that version prints: the version of the API, the platform and the time zone database.
type versionView struct {
	api.VersionView
	Platform string `json:"platform"`
	TZData   string `json:"tzdata"`
}

func newVersionCommand(c *cli) *cobra.Command {
	var cluster bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version of this binary, or of all processes of a cluster",
		Example: `  rota version -o json
  rota version --cluster`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cluster {
				return c.reading(show(c, versionSkew, writeSkew))(cmd, args)
			}
			v := versionView{node.BuiltVersion(), runtime.GOOS + "/" + runtime.GOARCH, zoneSource(c.getenv("ZONEINFO"))}
			return c.print(v, func(p *page) {
				built := ""
				if !v.Built.IsZero() {
					built = stamp(v.Built)
				}
				p.facts("rota", v.Version, "commit", v.Commit, "committed", built, "go", v.Go+" "+v.Platform, "time zones", v.TZData)
			})
		},
	}
	cmd.Flags().BoolVar(&cluster, "cluster", false, "show the versions of all replicas and workers")
	return cmd
}

// zoneSource returns the time zone database that package time uses. Package time has a list of databases and uses the
// first one that exists.
func zoneSource(zoneinfo string) string {
	for _, place := range []string{
		zoneinfo, "/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/", "/etc/zoneinfo",
	} {
		if place == "" {
			continue
		}
		if _, err := os.Stat(place); err == nil {
			return place
		}
	}
	return fmt.Sprintf("in the binary (%s)", runtime.Version())
}
