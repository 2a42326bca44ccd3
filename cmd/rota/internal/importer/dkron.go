package importer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// Dkron translates jobs of dkron in JSON: one job, or a list as `GET /v1/jobs` returns it.
func Dkron(file, text string, into *Result) {
	t := &translation{file, into}
	var doc yaml.Node // JSON is YAML, and its nodes have lines
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		t.lost(0, "is not JSON: %v", err)
		return
	} else if err := tooLarge(&doc); err != nil {
		t.lost(0, "%v", err)
		return
	}
	jobs := []*yaml.Node{doc.Content[0]}
	if doc.Content[0].Kind == yaml.SequenceNode {
		jobs = doc.Content[0].Content
	}
	for _, n := range jobs {
		if t.stopped() {
			return
		}
		t.dkronJob(newFields(t, "", n))
	}
}

func (t *translation) dkronJob(f *fields) {
	name := cmp.Or(f.text("name"), f.text("id"))
	s := job.Spec{Description: f.text("displayname"), Timezone: f.text("timezone"), Missed: job.MissedNone, Overlap: job.OverlapAllow}
	if f.text("concurrency") == "forbid" {
		s.Overlap = job.OverlapSkip
	}
	if retries := f.number("retries"); retries > 0 {
		s.Retry = &job.Retry{Max: retries}
	}
	s.Start, s.End = t.dkronTime(f, "starts_at"), t.dkronTime(f, "expires_at")
	t.dkronSchedule(f, name, &s)
	t.dkronParent(f, &s)
	t.dkronExecutor(f, &s)
	t.dkronTags(f, &s)
	if f.truth("disabled", dkronTrue) {
		t.lost(f.lineOf("disabled"), "disabled: a job file cannot pause a job; apply the file, then run rota pause %s", jobName(name))
	}
	if f.truth("ephemeral", dkronTrue) {
		t.lost(f.lineOf("ephemeral"), "ephemeral: delete the job after its run")
	}
	if len(f.below("processors").keys) > 0 {
		f.lost("processors", "rota keeps the output; read it with rota logs")
	}
	t.labels(f.below("metadata"), &s)
	if f.text("owner") != "" || f.text("owner_email") != "" {
		t.lost(f.lineOf("owner"), "owner: define a notifier, and name it in notify")
	}
	f.drop("owner_email", "success_count", "error_count", "last_success", "last_error", "status", "next", "dependent_jobs",
		"version", "id")
	f.rest()
	t.add(f.line, name, onClockChanges(s, schedule.GapSkip, schedule.FoldBoth))
}

func (t *translation) dkronExecutor(f *fields, s *job.Spec) {
	kind, config := f.text("executor"), f.below("executor_config")
	switch kind {
	case "shell":
		t.dkronShell(config, s)
	case "http":
		t.dkronHTTP(config, s)
	default:
		t.lost(f.lineOf("executor"), "executor %q has no counterpart", kind)
		s.Command = []string{"false"}
		return
	}
	config.rest()
}

func (t *translation) dkronShell(config *fields, s *job.Spec) {
	command := config.text("command")
	kept, dropped := beforeShell(command)
	if config.truth("shell", dkronTrue) {
		s.Shell = command
	} else if words, err := splitWords(kept); err != nil || len(words) == 0 {
		t.lost(config.lineOf("command"), "command %q: its quotes do not end", command)
		s.Shell = command
	} else {
		s.Command = words
		if dropped != "" {
			t.note(config.lineOf("command"), "command: without a shell, dkron drops %q, and so does the job here", dropped)
		}
	}
	s.Dir = config.text("cwd")
	for pair := range strings.SplitSeq(config.text("env"), ",") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			put(&s.Env, strings.TrimSpace(name), value)
			t.variable(config.lineOf("env"), strings.TrimSpace(name), value)
		}
	}
	if text := config.text("timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.lost(config.lineOf("timeout"), "timeout %q: %v", text, err)
		}
		s.Timeout = job.Duration(d)
	}
	if kib := config.number("mem_limit_kb"); kib > 0 {
		s.Resources = &job.Resources{Memory: job.Size(kib) << 10}
	}
	if text := config.text("allowed_exitcodes"); text != "" {
		t.dkronCodes(config.lineOf("allowed_exitcodes"), text, s)
	}
	config.drop("job_data")
}

// dkronCodes translates the exit codes that mean success. For dkron, 0 is always one of them.
func (t *translation) dkronCodes(line int, text string, s *job.Spec) {
	s.SuccessCodes = []int{0}
	for item := range strings.SplitSeq(text, ",") {
		code, err := strconv.Atoi(strings.TrimSpace(item))
		if err != nil {
			t.lost(line, "allowed_exitcodes %q is no list of numbers", text)
			return
		}
		if !slices.Contains(s.SuccessCodes, code) {
			s.SuccessCodes = append(s.SuccessCodes, code)
		}
	}
}

func (t *translation) dkronHTTP(config *fields, s *job.Spec) {
	s.HTTP = &job.HTTP{URL: config.text("url"), Method: strings.ToUpper(config.text("method")), Body: config.text("body")}
	t.sent(config.lineOf("url"), "url", s.HTTP.URL)
	t.sent(config.lineOf("body"), "body", s.HTTP.Body)
	for _, header := range jsonList(config.text("headers")) {
		name, value, ok := strings.Cut(header, ":")
		if !ok {
			t.lost(config.lineOf("headers"), "header %q has no colon", header)
			continue
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		put(&s.HTTP.Headers, name, value)
		t.sent(config.lineOf("headers"), "header "+name, value)
	}
	if config.text("expectCode") == "" {
		t.note(config.line, "no expectCode: dkron accepts any status, the job here only 2xx")
	}
	for code := range strings.SplitSeq(config.text("expectCode"), ",") {
		if code = strings.TrimSpace(code); code == "" {
			continue
		}
		status, err := strconv.Atoi(code)
		if err != nil {
			t.lost(config.lineOf("expectCode"), "expectCode %q is no status", code)
			continue
		}
		s.HTTP.Expect = append(s.HTTP.Expect, status)
	}
	if text := config.text("timeout"); text != "" {
		var seconds int
		if _, err := fmt.Sscanf(text, "%d", &seconds); err != nil {
			t.lost(config.lineOf("timeout"), "timeout %q is no number of seconds", text)
		}
		s.Timeout = job.Duration(time.Duration(seconds) * time.Second)
	}
	config.lost("expectBody", "rota judges an answer by its status")
	config.lostIf("tlsNoVerifyPeer", dkronTrue, "rota verifies the certificates of targets")
	config.lost("tlsCertificateFile", "rota has no certificate of its own for targets")
	config.lost("tlsCertificateKeyFile", "rota has no certificate of its own for targets")
	config.lost("tlsRootCAsFile", "add the authority to those of the worker's system")
	config.drop("debug")
}

// jsonList reads a JSON list of texts. A single text counts as a list of one.
func jsonList(text string) (list []string) {
	if text == "" {
		return nil
	}
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return []string{text}
	}
	return list
}

// dkronParent makes a job with a parent a step behind it. dkron starts it whenever the parent succeeds, and ignores its schedule.
func (t *translation) dkronParent(f *fields, s *job.Spec) {
	parent := f.text("parent_job")
	if parent == "" {
		return
	}
	if s.Scheduled() {
		t.note(f.lineOf("schedule"), "schedule: dkron ignores it, because the job has a parent")
	}
	s.Schedule, s.Every, s.At, s.Timezone, s.Missed, s.Overlap, s.Start, s.End = nil, 0, nil, "", "", "", nil, nil
	s.After = []job.After{{Job: jobName(parent), When: job.WhenSuccess}}
}

// dkronTags translates tags, such as {"role": "web:2"}. A tag names a label of the nodes that may execute the job, and how many
// nodes do: the smallest number counts. Without a number, all of them do.
func (t *translation) dkronTags(f *fields, s *job.Spec) {
	tags, nodes := f.below("tags"), math.MaxInt
	for _, key := range tags.keys {
		value, count, counted := strings.Cut(tags.text(key), ":")
		if n, err := strconv.Atoi(count); err == nil {
			nodes = min(nodes, n)
		} else if counted {
			t.lost(tags.lineOf(key), "tag %s: %q is no number of nodes", key, count)
		}
		put(&s.Workers, key, value)
	}
	switch {
	case nodes == 1:
	case nodes < math.MaxInt:
		t.lost(f.lineOf("tags"), "tags: dkron runs the job on %d nodes, rota on one", nodes)
	case len(s.After) > 0:
		t.lost(f.lineOf("tags"), "tags: dkron runs the job on every matching node, rota runs a step on one")
	default:
		t.note(f.lineOf("tags"), "tags: the job runs on every matching worker, as in dkron")
		put(&s.Workers, job.EveryWorker, "true")
	}
}
