package config

import (
	"encoding/json"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// The limits of a job file. They are far larger than normal use needs, and small enough for a record in the store. Package job
// has the ranges of numbers.
const (
	maxDescription = 1 << 10   // bytes.
	maxText        = 64 << 10  // bytes of a shell script, an argument, a body or a value of env.
	maxURL         = 8 << 10   // bytes.
	maxPayload     = 256 << 10 // bytes of JSON; for programs the limit is smaller: job.MaxToldPayload.
	maxEntries     = 256       // entries of env, headers and workers.
	maxArguments   = 1024      // arguments of a command
)

// jobKeys are the keys of a job. To add a key, add a row here and a field to job.Spec.
var jobKeys = tableOf(
	job.Spec{}.WithDefaults(),
	key("description", textUpTo(maxDescription), func(s *job.Spec) *string { return &s.Description },
		"Dump the database", "Says what the job is for.", perJob,
		alias("name", "displayName", "title")),
	key("labels", words("mapping of labels", inFlow, (*reader).jobLabels), func(s *job.Spec) *map[string]string { return &s.Labels },
		"{team: billing}", "Labels of the job, for selectors such as -l team=billing and for scopes of roles. "+
			"They have the form of Kubernetes labels.", zero("Only selectors without a condition select the job."),
		alias("tags", "owner", "team", "annotations")),
	key("schedule", listOf(expression, oneQuoted), func(s *job.Spec) *[]string { return &s.Schedule },
		`"30 2 * * *"`, "Cron expressions of 5 or 6 fields, or words such as @daily. A slot of any expression is a slot of the job.",
		perJob, zero("The job has no slots of its own. It runs when a client asks."), ofRoots,
		alias("cron", "crontab", "OnCalendar")),
	key("every", span(job.EveryRange), func(s *job.Spec) *job.Duration { return &s.Every },
		"10m", "The period between two slots. Slots lie on its multiples since 1970-01-01T00:00:00Z.",
		perJob, zero("The job has no period."), ofRoots,
		alias("interval", "period")),
	key("at", listOf(instant, oneQuoted), func(s *job.Spec) *[]time.Time { return &s.At },
		`"2030-06-01T12:00:00Z"`, "Single instants at which the job has a slot.", perJob, zero("The job has no such slots."), ofRoots,
		alias("once", "runAt")),
	key("after", parents, func(s *job.Spec) *[]job.After { return &s.After },
		"[nightly-backup, {job: charge-check, when: done}]", "The jobs that this one follows as a step of a workflow. "+
			"Its slots are those of these jobs.", perJob, zero("The job is no step."),
		alias("dependsOn", "dependencies", "needs", "upstream")),
	key("timezone", word(maxText), func(s *job.Spec) *string { return &s.Timezone },
		"Europe/Berlin", "The IANA time zone of schedule, exclude, calendar and finish_by.",
		alias("tz", "zone")),
	key("dst", mappingOf(dstKeys, inFlow, nil, nil), func(s *job.Spec) **job.DST { return &s.DST },
		"{gap: run, fold: first}", "Decides about times of day that a change of the clock removes or repeats.", ofRoots),
	key("start", bound, func(s *job.Spec) **time.Time { return &s.Start },
		"2026-01-01T00:00:00Z", "The job has no slot before this instant.", zero("Slots have no first instant."), ofRoots,
		alias("startDate")),
	key("end", bound, func(s *job.Spec) **time.Time { return &s.End },
		"2027-01-01T00:00:00Z", "The job has no slot at or after this instant.", zero("Slots have no last instant."), ofRoots,
		alias("endDate")),
	key("exclude", listOf(date, quotedInFlow), func(s *job.Spec) *[]string { return &s.Exclude },
		`["2026-12-25"]`, "Dates on which the job has no slot, in its time zone.", zero("No date is left out."), ofRoots),
	key("calendar", mappingOf(calendarOfJobKeys, inFlow, nil, checkCalendar), func(s *job.Spec) **job.Calendar { return &s.Calendar },
		"{on: nyse, else: next}", "The days on which the job has slots, in its time zone. A step is skipped on other days.",
		zero("The job has slots on every day."),
		alias("holidays")),
	key("jitter", jitter, func(s *job.Spec) *job.Duration { return &s.Jitter },
		"30s", "Each run starts later than its slot by a share of this duration. The share is fixed per job.",
		zero("A run starts at its slot."), ofRoots,
		alias("randomDelay", "RandomizedDelaySec")),
	key("missed", choiceOf(job.MissedPolicies()), func(s *job.Spec) *job.Missed { return &s.Missed },
		"all", "Which slots run that passed while no leader could dispatch: none, the latest, or all, oldest first.", ofRoots,
		alias("misfire", "catchup", "Persistent")),
	key("missed_window", span(job.MissedWindowRange), func(s *job.Spec) *job.Duration { return &s.MissedWindow },
		"6h", "Missed slots that are older than this are skipped.", zero("Missed slots run however old they are."), ofRoots,
		alias("startingDeadlineSeconds")),
	key("missed_limit", integer(job.MissedLimitRange), func(s *job.Spec) *int { return &s.MissedLimit },
		"10", "How many missed slots run at most with missed: all.", ofRoots),
	key("overlap", choiceOf(job.OverlapPolicies()), func(s *job.Spec) *job.Overlap { return &s.Overlap },
		"queue", "Decides about a slot while an earlier run is active: skip the slot, allow both, replace the earlier run, "+
			"or queue behind it.",
		alias("concurrencyPolicy", "forbid")),
	key("delivery", choiceOf(job.Deliveries()), func(s *job.Spec) *job.Delivery { return &s.Delivery },
		"at_most_once", "Decides about an attempt whose worker is lost: at_least_once repeats it, at_most_once ends the run as lost."),
	key("success_codes", listOf(integer(job.ExitCodeRange), inFlow), func(s *job.Spec) *[]int { return &s.SuccessCodes },
		"[0, 3]", "The exit codes of a program that mean success.", zero("Exit code 0 means success.")),
	key("timeout", span(job.TimeoutRange), func(s *job.Spec) *job.Duration { return &s.Timeout },
		"10m", "How long one attempt may take. After it, the worker ends the attempt.",
		alias("deadline", "activeDeadlineSeconds", "RuntimeMaxSec", "ttl")),
	key("kill_grace", span(job.KillGraceRange), func(s *job.Spec) *job.Duration { return &s.KillGrace },
		"30s", "How long a program has between SIGTERM and SIGKILL."),
	key("heartbeat", span(job.HeartbeatRange), func(s *job.Spec) *job.Duration { return &s.Heartbeat },
		"5m", "An attempt that reports no progress for this long is ended.", zero("An attempt need not report progress.")),
	key("retry", mappingOf(retryKeys, inFlow, nil, checkRetry), func(s *job.Spec) **job.Retry { return &s.Retry },
		"{max: 3, min: 5s}", "How an attempt that failed is repeated.", zero("Only an attempt that asks for a repetition is repeated."),
		alias("retries", "backoffLimit", "maxRetries", "attempts", "backoff")),
	key("priority", integer(job.PriorityRange), func(s *job.Spec) *int { return &s.Priority },
		"10", "Runs of a higher priority start first while workers are short.", zero("0, the priority of most jobs.")),
	key(
		"max_pending",
		integer(job.Range[int]{Low: 1, High: job.MaxPendingRange.High}),
		func(s *job.Spec) *int { return &s.MaxPending },
		"50",
		"How many submitted runs of the job may wait for their start. Further submissions get 503 with Retry-After.",
		zero("1000 runs."),
	),
	key("start_within", span(job.Range[job.Duration]{Low: 1, High: job.MaxDuration}),
		func(s *job.Spec) *job.Duration { return &s.StartWithin },
		"10m", "A run that has waited longer than this for its first start is skipped.", zero("A run waits without end."),
		alias("startingDeadlineSeconds")),
	key("finish_by", finishBy, func(s *job.Spec) *string { return &s.FinishBy },
		`"06:00"`, "When the run of a slot must have succeeded: a time of day after the slot, in the time zone of the job, or a "+
			"duration after the slot. Otherwise notifiers get `late`.", zero("A run is never late."),
		alias("deadline", "sla")),
	key("approve", ruleOf(approveKeys, inFlow, nil, checkApprove), func(s *job.Spec) **job.Approve { return &s.Approve },
		"{by: [sre], within: 4h}", "Each run waits for a person, who approves or rejects it.", zero("Runs wait for no person.")),
	key("workers", words("mapping of labels", inFlow, (*reader).workerLabels),
		func(s *job.Spec) *map[string]string { return &s.Workers }, "{zone: a}", "Labels that a worker must have to execute the job. With `all: true` beside them, each run is a run on every "+
			"worker that has them.", zero("Any worker may execute the job."),
		alias("nodeSelector", "runsOn", "queue")),
	key("notify", notifiersOfJob, func(s *job.Spec) *job.Notify { return &s.Notify },
		"[ops]", "Names of notifiers that report about the job, or definitions for this job alone.", zero("Nobody is notified."),
		alias("alerts", "notifications", "onFailure", "mailto")),
	key("ping", pingOfJob, func(s *job.Spec) **job.Ping { return &s.Ping },
		"https://hc-ping.com/5e0a2c1b", "Where the leader sends a ping when a run starts, succeeds or fails: to a service that alarms "+
			"when pings stay away.", perJob, zero("No pings are sent."),
		alias("healthcheck", "healthchecks", "cronitor", "deadmanssnitch")),
	key("limits", limitNames, func(s *job.Spec) *[]string { return &s.Limits },
		"[database]", "Names of cluster-wide limits that each run of the job holds. They are defined beside jobs.",
		zero("The job holds no limit."),
		alias("concurrency", "maxParallel", "queue")),
	key("rate", rate, func(s *job.Spec) *job.Rate { return &s.Rate },
		"10/s", "How many attempts of the job start at most in each second, minute or hour.", zero("Attempts start at any rate.")),
	key("breaker", mappingOf(breakerKeys, inFlow, nil, nil), func(s *job.Spec) **job.Breaker { return &s.Breaker },
		"{window: 20, failure_ratio: 0.5, open_for: 1m}", "Stops the job for a while when too many of its attempts fail.",
		zero("Failures do not stop the job.")),
	key("command", command, func(s *job.Spec) *[]string { return &s.Command },
		"[/usr/local/bin/backup, --to, /srv]", "The program to execute, and its arguments.", perJob,
		alias("cmd", "exec", "run", "args", "ExecStart")),
	key("shell", argument(maxText, object{"type": "string", "minLength": 1, "maxLength": maxText}, asBlock),
		func(s *job.Spec) *string { return &s.Shell },
		"pg_dump app > /srv/app.sql", "A script for /bin/sh -c.", perJob,
		alias("script", "bash")),
	key("http", mappingOf(httpKeys, plain, object{"not": object{"required": []string{"json", "body"}}}, checkHTTP),
		func(s *job.Spec) **job.HTTP { return &s.HTTP },
		"{url: https://host/path}", "An HTTP request to make.", perJob,
		alias("url", "webhook", "request")),
	key("handler", word(maxURL), func(s *job.Spec) *string { return &s.Handler },
		"report", "The name of a Go function that the worker's program registers.", perJob),
	key("container", mappingOf(containerKeys, plain, nil, nil), func(s *job.Spec) **job.Container { return &s.Container },
		"{image: \"registry.internal/backup:1.4\"}", "A container to run to its end, on Docker's engine of the worker.", perJob,
		alias("docker", "image")),
	key("kubernetes", mappingOf(kubernetesKeys, plain, nil, checkKubernetes),
		func(s *job.Spec) **job.Kubernetes { return &s.Kubernetes },
		"{image: \"registry.internal/report:7\"}", "A Job of Kubernetes to create.", perJob,
		alias("pod", "k8s", "kubernetes_job")),
	key(
		"output",
		words("mapping of JSON Pointers", inFlow, (*reader).pointers),
		func(s *job.Spec) *map[string]string { return &s.Outputs },
		`{total: "/data/total"}`,
		"Outputs of the run that steps behind it read, by their names. Each JSON Pointer leads to a "+
			"value in the response of http.",
		perJob,
		zero("The response gives no outputs."),
	),
	key("env", words("mapping of texts", plain, (*reader).env), func(s *job.Spec) *map[string]string { return &s.Env },
		"{PGPASSWORD: \"${file:/run/secrets/pg}\"}", "Environment variables of command, shell, container and kubernetes. "+
			"The worker resolves ${env:NAME} and ${file:/path}.", zero("No variables besides those of rota."),
		alias("environment", "envVars")),
	key("dir", argument(maxURL, object{"type": "string", "minLength": 1}, plain), func(s *job.Spec) *string { return &s.Dir },
		"/srv", "The working directory of command, shell and container.", zero("That of the worker, or of the image."),
		alias("cwd", "workdir", "workingDirectory")),
	key("resources", mappingOf(resourceKeys, inFlow, nil, nil), func(s *job.Spec) **job.Resources { return &s.Resources },
		"{memory: 512MiB, cpu: 1}", "Bounds for the processes of one attempt of command, shell or container together.",
		zero("The processes have no limits."),
		alias("memory", "cpu")),
	key("payload", data((*reader).failLarge), func(s *job.Spec) *json.RawMessage { return &s.Payload },
		"{month: 1}", "Any value. The job gets it as JSON.", perJob, zero("The job gets no payload.")),
	key("params", params, func(s *job.Spec) *map[string]job.Param { return &s.Params },
		"{env: {enum: [stage, prod], default: stage}}", "Parameters that a client may give to a run. The job gets them as "+
			"ROTA_PARAM_<NAME> and as {{ .Params.name }}. A client may give no other parameter.",
		perJob, zero("A run has no parameters."),
		alias("parameters", "inputs")),
	key("hooks", hooksOfJob, func(s *job.Spec) *job.Hooks { return &s.Hooks },
		`{deployed: {secret: "${file:/run/secrets/hook}"}}`, "Signed requests that start the job, for this job alone. They may also "+
			"stand beside jobs.", perJob, zero("No request without a token starts the job.")),
)

var dstKeys = tableOf(*job.Spec{}.WithDefaults().DST,
	key("gap", asText(choiceOf(schedule.Gaps())), func(d *job.DST) *string { return &d.Gap },
		"skip", "Whether a time of day that the clock jumps over runs later, or is skipped."),
	key("fold", asText(choiceOf(schedule.Folds())), func(d *job.DST) *string { return &d.Fold },
		"both", "At which showing a time of day runs that the clock shows twice."),
)

var retryKeys = tableOf(*job.Spec{Retry: &job.Retry{}}.WithDefaults().Retry,
	key("max", integer(job.RetryMaxRange), func(t *job.Retry) *int { return &t.Max },
		"3", "How many further attempts follow the first.", zero("0 repeats no attempt. A job with retry must have this key.")),
	key("backoff", choiceOf(job.Backoffs()), func(t *job.Retry) *job.Backoff { return &t.Backoff },
		"linear", "How the delay grows from one attempt to the next."),
	key("min", span(job.RetryDelayRange), func(t *job.Retry) *job.Duration { return &t.Min },
		"5s", "The delay before the first repetition."),
	key("max_delay", span(job.RetryDelayRange), func(t *job.Retry) *job.Duration { return &t.MaxDelay },
		"10m", "The longest delay. The default grows with min."),
	key("jitter", choiceOf(job.RetryJitters()), func(t *job.Retry) *job.RetryJitter { return &t.Jitter },
		"none", "How the delay is spread: none keeps it, full draws a delay between zero and it."),
	key("on", listOf(retryOn, inFlow), func(t *job.Retry) *[]job.RetryOn { return &t.On },
		"[75, timeout]", "Which attempts are repeated: exit codes, timeout, HTTP statuses such as 429, and classes such as 5xx.",
		zero("The kind of the action decides.")),
)

var breakerKeys = tableOf(*job.Spec{Breaker: &job.Breaker{}}.WithDefaults().Breaker,
	key("window", integer(job.BreakerWindowRange), func(b *job.Breaker) *int { return &b.Window },
		"20", "How many of the latest attempts count."),
	key("failure_ratio", ratio, func(b *job.Breaker) *float64 { return &b.FailureRatio },
		"0.5", "The share of these attempts that must fail to open the breaker."),
	key("open_for", span(job.BreakerOpenForRange), func(b *job.Breaker) *job.Duration { return &b.OpenFor },
		"5m", "How long the breaker stays open before one run is tried."),
)

var httpKeys = tableOf(*job.Spec{HTTP: &job.HTTP{}}.WithDefaults().HTTP,
	key("url", targetURL, func(h *job.HTTP) *string { return &h.URL },
		"https://billing.internal/charge", "The URL of the request. It may hold ${env:NAME}, ${file:/path} and {{ .Slot }}.", required),
	key("method", choiceOf(methods), func(h *job.HTTP) *string { return &h.Method },
		"PUT", "The method of the request. With json or body the default is POST."),
	key("headers", words("mapping of texts", plain, (*reader).headers), func(h *job.HTTP) *map[string]string { return &h.Headers },
		"{Authorization: \"Bearer ${env:TOKEN}\"}", "Headers of the request. They may hold the same references as url.",
		zero("No headers besides those of rota.")),
	key("json", requestJSON, func(h *job.HTTP) *json.RawMessage { return &h.JSON },
		"{month: \"{{ .Slot }}\"}", "The body of the request, sent as application/json.", zero("No such body.")),
	key("body", requestBody, func(h *job.HTTP) *string { return &h.Body },
		"month=1", "The body of the request, sent unchanged.", zero("No such body.")),
	key("expect", statusList, func(h *job.HTTP) *[]int { return &h.Expect },
		"[200, 202]", "The statuses that mean success.", zero("Each status from 200 to 299 means success.")),
)

var resourceKeys = tableOf(job.Resources{},
	key("memory", memory, func(r *job.Resources) *job.Size { return &r.Memory },
		"512MiB", "The memory of all processes of the attempt together.", zero("No limit.")),
	key("cpu", cpus, func(r *job.Resources) *job.CPUs { return &r.CPU },
		"0.5", "How many CPUs' worth of time the processes may use.", zero("No limit.")),
	key("pids", integer(job.PIDsRange), func(r *job.Resources) *int { return &r.PIDs },
		"100", "How many processes and threads may exist at a time.", zero("No limit.")),
)

// limitKeys are the keys of a limit.
var limitKeys = tableOf(job.LimitSpec{},
	key("concurrent", integer(job.ConcurrentRange), func(l *job.LimitSpec) *int { return &l.Concurrent },
		"4", "How many runs may be with workers at a time.", zero("Any number of runs.")),
	key("rate", rate, func(l *job.LimitSpec) *job.Rate { return &l.Rate },
		"100/s", "How many attempts may start in each second, minute or hour.", zero("Attempts start at any rate.")),
)

// notifierKeys are the keys of a notifier.
var notifierKeys = tableOf(job.Spec{Notify: job.Notify{"": {}}}.WithDefaults().Notify[""],
	key("url", notifierURL, func(to *job.Notifier) *string { return &to.URL },
		"slack://token@channel", "The service that gets the messages. It may hold ${env:NAME} and ${file:/path}.", required),
	key("when", uniqueInOrder(listOf(choiceOf(job.Occasions()), plain), job.Occasions()),
		func(to *job.Notifier) *[]job.Occasion { return &to.When },
		"[failure, recovery]", "The occasions that are reported."),
	key("after", integer(job.AfterRange), func(to *job.Notifier) *int { return &to.After },
		"3", "How many runs in a row must fail until the first message.", zero("The first failure is reported.")),
	key("repeat", span(job.Range[job.Duration]{Low: 1, High: job.MaxDuration}),
		func(to *job.Notifier) *job.Duration { return &to.Repeat },
		"1h", "How long a notifier gets no further message about the same cause.", zero("4h.")),
)
