package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// foreignCommands has hints for commands of other tools, such as kubectl, systemctl and Airflow.
var foreignCommands = map[string]string{
	"get":      "`rota jobs`, `rota runs` and `rota workers` list; `rota job NAME` shows one job",
	"list":     "`rota jobs`, `rota runs` and `rota workers` list",
	"ls":       "`rota jobs`, `rota runs` and `rota workers` list",
	"ps":       "`rota runs --state running` lists what runs",
	"history":  "`rota runs` lists runs; `rota audit` lists changes",
	"describe": "`rota job NAME` shows a job, and `rota run-info RUN` a run",
	"create":   "write the job into a file, then run `rota apply FILE`",
	"edit":     "change the job in its file, which `rota export JOB` prints, then run `rota diff FILE` and `rota apply FILE`",
	"patch":    "`rota pause JOB` suspends a job; for the rest, change its file, then run `rota apply FILE`",
	"replace":  "`rota apply FILE` creates and changes jobs",
	"label":    "change labels in the job's file, then run `rota apply FILE`",
	"annotate": "change description and labels in the job's file, then run `rota apply FILE`",
	"rollout":  "definitions are in force when `rota apply` ends; `rota audit JOB` lists changes, `rota wait JOB` waits for a run",
	"scale":    "`rota limits` lists limits of concurrent runs; change them in the job file",
	"attach":   "`rota logs -f JOB` follows the latest run",
	"auth":     "`rota whoami` shows who you are, and what you may do",
	"can-i":    "`rota whoami` shows who you are, and what you may do",
	"nodes":    "`rota status` lists replicas, and `rota workers` lists workers",
	"drain":    "stop the worker: it ends its runs and takes no more",
	"cordon":   "stop the worker: it ends its runs and takes no more",
	"copy":     "copy the job in its file under another name, then run `rota apply FILE`",
	"cp":       "copy the job in its file under another name, then run `rota apply FILE`",
	"set":      "change the job in its file, then run `rota diff FILE` and `rota apply FILE`",
	"trigger":  "`rota run JOB` runs a job now",
	"exec":     "`rota submit -- ARGV` runs a command once",
	"start":    "`rota run JOB` runs a job now; `rota dev` and `rota serve` start rota itself",
	"stop":     "`rota cancel RUN` ends a run; `rota pause JOB` stops its schedule",
	"kill":     "`rota cancel RUN` ends a run",
	"suspend":  "`rota pause JOB` stops the schedule of a job",
	"disable":  "`rota pause JOB` stops the schedule of a job",
	"enable":   "`rota resume JOB` continues the schedule of a paused job",
	"restart":  "`rota retry RUN` repeats a run",
	"rerun":    "`rota retry RUN` repeats a run",
	"timers":   "`rota next` lists the next slots of all jobs",

	"cluster-info":  "`rota status` shows the cluster",
	"api-resources": "`rota config schema jobs` lists the keys of a job",
}

// foreignFlags has hints for flags of kubectl, for commands that do not have them.
var foreignFlags = map[string]string{
	"f": "files need no flag, as in: rota apply jobs.yaml", "filename": "files need no flag, as in: rota apply jobs.yaml",
	"n": noNamespaces, "namespace": noNamespaces, "A": noNamespaces, "all-namespaces": noNamespaces,
	"w": follows, "watch": follows,
	"p": earlier, "previous": earlier,
	"v": version, "version": version,
	"for":         "`rota wait` waits for the end of a run; `rota events JOB` lists the events of a job",
	"show-labels": "-o wide shows labels",
	"no-headers":  "-o name prints names alone, and -o jsonpath=… other fields",
	"tail":        "pipe the output, as in: rota logs JOB | tail -n 20",
	"context":     "name a cluster with --server or ROTA_SERVER", "kubeconfig": "name a cluster with --server or ROTA_SERVER",
}

// foreignFlag returns the hint for a flag that the command does not have; "" if there is none. For journalctl, -n is a number.
func foreignFlag(cmd *cobra.Command, name string) string {
	switch {
	case name == "n" && cmd.Flags().Lookup("limit") != nil:
		return "--limit says how many"
	case name == "p" && cmd.Flags().Lookup("param") != nil:
		return "--param NAME=VALUE gives a parameter"
	case name == "n" && cmd.Name() == "logs":
		name = "tail"
	case cmd.Name() == "delete" && (name == "f" || name == "filename"):
		return "remove the job in its file, then run `rota apply FILE --prune`; `rota delete JOB` removes one of the API"
	}
	return foreignFlags[name]
}

const (
	noNamespaces = "rota has no namespaces: -l selects jobs by labels"
	follows      = "`rota events -f` follows events, and `rota runs -w JOB` runs"
	version      = "`rota version` shows the version"
	earlier      = "`rota runs JOB` lists earlier runs, and --attempt N selects an earlier attempt"
)

// foreignTypes are words with which kubectl says what a name belongs to.
var foreignTypes = []string{"job", "jobs", "cronjob", "cronjobs", "cj", "run", "runs"}

// surplusHint returns a hint if the arguments are those of kubectl get jobs NAME or kubectl delete job NAME; "" otherwise.
func surplusHint(cmd *cobra.Command, args []string) string {
	switch {
	case cmd.Name() == "jobs":
		return "`rota job " + args[0] + "` shows one job"
	case len(args) > 1 && slices.Contains(foreignTypes, args[0]):
		return "leave " + args[0] + " out: " + cmd.CommandPath() + " " + args[1]
	}
	return ""
}

// withoutType adds a hint to the error about a name that does not exist, if the name looks like job/NAME.
func withoutType(cmd *cobra.Command, args []string, err error) error {
	if !errors.Is(err, job.ErrNotFound) || len(args) == 0 {
		return err
	}
	word, name, found := strings.Cut(args[0], "/")
	switch {
	case !found:
		return err
	case slices.Contains(foreignTypes, word):
		return &codedError{code: exitNotFound, err: err, hint: "give the name alone: " + name}
	case strings.Contains(cmd.Use, "JOB") && !strings.Contains(cmd.Use, "RUN"):
		return &codedError{code: exitNotFound, err: err, hint: "`rota run-info " + args[0] + "` shows one run"}
	}
	return err
}

// foreignCommand returns the hint for cobra's message about an unknown command, if another tool has it; "" otherwise.
func foreignCommand(msg string) string {
	word, ok := strings.CutPrefix(msg, `unknown command "`)
	if !ok {
		return ""
	}
	word, rest, _ := strings.Cut(word, `"`)
	if rest != ` for "rota"` {
		return ""
	}
	return foreignCommands[word]
}
