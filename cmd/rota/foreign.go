package main

import "strings"

// foreignCommands has hints for commands of other tools, such as kubectl, systemctl and Airflow.
var foreignCommands = map[string]string{
	"get":      "`rota jobs`, `rota runs` and `rota workers` list; `rota job NAME` shows one job",
	"list":     "`rota jobs`, `rota runs` and `rota workers` list",
	"ls":       "`rota jobs`, `rota runs` and `rota workers` list",
	"ps":       "`rota runs --state running` lists what runs",
	"history":  "`rota runs` lists runs; `rota audit` lists changes",
	"describe": "`rota job NAME` shows a job, and `rota run-info RUN` a run",
	"create":   "write the job into a file, then run `rota apply FILE`",
	"edit":     "change the job in its file, then run `rota diff FILE` and `rota apply FILE`",
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
