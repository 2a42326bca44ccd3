package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
)

func newImportCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Translate schedules of other tools into a job file",
		Long: `Translate crontabs, CronJobs of Kubernetes, timers of systemd, or jobs of dkron, and print a job file. Everything that
a job file cannot say is reported on stderr with its place, and the exit code is 1. Notes alone leave it at 0.`,
		Example: `  rota import crontab --system /etc/crontab > jobs.yaml
  kubectl get cronjobs -o yaml | rota import cronjob - > jobs.yaml`,
	}
	var system bool
	zone := localZone(os.Getenv("TZ"), "/etc/localtime")
	crontab := c.importCommand(importer.KindCrontab, "Translate crontabs", "  crontab -l | rota import crontab -", &system, &zone)
	crontab.Flags().BoolVar(&system, "system", false, "each line has a user behind its time, as in /etc/crontab and /etc/cron.d")
	systemd := c.importCommand(importer.KindSystemd, "Translate timers with their services",
		"  rota import systemd /etc/systemd/system/backup.{timer,service}\n"+
			"  systemctl cat backup.timer backup.service | rota import systemd -", &system, &zone)
	for _, sub := range []*cobra.Command{crontab, systemd} {
		flag := sub.Flags().VarPF(&givenFlag{&zone, "the name of a zone"}, "timezone", "",
			"time `zone` of the machine that the files are from (default: that of this machine)")
		flag.DefValue = ""
	}
	return group(cmd, crontab, systemd,
		c.importCommand(importer.KindCronJob, "Translate CronJobs of Kubernetes",
			"  kubectl get cronjobs -o yaml | rota import cronjob -", &system, &zone),
		c.importCommand(importer.KindDkron, "Translate jobs of dkron",
			"  curl -s http://dkron:8080/v1/jobs | rota import dkron -", &system, &zone))
}

// importCommand returns a command that translates files of one kind.
func (c *cli) importCommand(kind, short, example string, system *bool, zone *string) *cobra.Command {
	return &cobra.Command{
		Use: kind + " FILE...", Short: short, Example: example,
		Args: takes("FILE..."),
		RunE: func(cmd *cobra.Command, files []string) error {
			texts := map[string]string{}
			for _, file := range files {
				text, err := c.readInput(file)
				if err != nil {
					return err
				}
				texts[file] = string(text)
			}
			o := importer.Options{Kind: kind, Timezone: *zone}
			if cmd.Flags().Changed("system") {
				o.System = system
			}
			var res importer.Result
			if err := importer.Translate(o, files, texts, &res); err != nil {
				return err
			}
			if res.MachineZone && *zone == "" {
				const hint = "name it with --timezone, such as Europe/Berlin"
				return usageError{"the time zone of this machine has no name that can be found out", hint}
			}
			return c.printImported(&res)
		},
	}
}

// maxImport is the size of the largest file that import reads, in bytes.
const maxImport = 16 << 20

// readInput reads a file, or stdin if its name is -.
func (c *cli) readInput(file string) ([]byte, error) {
	text, err := c.readUpTo(file, maxImport+1)
	switch {
	case err != nil:
		return nil, &codedError{exitFailed, "Check the path.", err}
	case len(text) > maxImport:
		return nil, fmt.Errorf("read %s: it has more than %d MiB", file, maxImport>>20)
	}
	return text, nil
}

func (c *cli) printImported(res *importer.Result) error {
	text, err := res.JobFile()
	for _, p := range res.Problems {
		c.printErr("%s", p)
	}
	if err != nil {
		return err
	}
	if len(text) == 0 && res.Complete() {
		c.printErr("note: there is no schedule in the input")
	}
	if _, err := c.out.Write(text); err != nil {
		return &outputError{err}
	}
	if !res.Complete() {
		return &codedError{exitFailed, "Read the lines above, and edit the job file.", errors.New("not everything was translated")}
	}
	return nil
}

// localZone returns the name of this machine's time zone; "" if it cannot be found out. tz is the value of TZ, and file is the link
// to the description of the zone.
func localZone(tz, file string) string {
	tz = strings.TrimPrefix(tz, ":")
	if path.IsAbs(tz) {
		file = tz
	} else if tz != "" {
		return tz
	}
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "UTC" // as the C library has it
	}
	_, name, ok := strings.Cut(target, "/zoneinfo/")
	switch name {
	case "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "Etc/GMT":
		return "UTC"
	}
	if err != nil || !ok {
		return ""
	}
	return name
}
