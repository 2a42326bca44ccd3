package importer

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// CronJob translates CronJobs of Kubernetes: one or several YAML documents, or a List of them. Other kinds are reported.
func CronJob(file, text string, into *Result) {
	t := &translation{file, into}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	for !t.stopped() {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.lost(0, "is not YAML: %v", err)
			return
		case len(doc.Content) == 0:
			continue
		}
		if err := tooLarge(&doc); err != nil {
			t.lost(0, "%v", err)
			return
		}
		t.object(newFields(t, "", doc.Content[0]), "")
	}
}

// object translates an object. The items of a CronJobList have no kind of their own, and get listed.
func (t *translation) object(f *fields, listed string) {
	switch kind := cmp.Or(f.text("kind"), listed); {
	case kind == "List", kind == "CronJobList":
		for _, item := range f.each("items") {
			if t.stopped() {
				return
			}
			item.path = ""
			t.object(item, strings.TrimSuffix(kind, "List"))
		}
	case kind != "CronJob":
		t.lost(f.line, "kind %q is not CronJob", kind)
	default:
		t.cronJob(f)
	}
}

func (t *translation) cronJob(f *fields) {
	f.drop("apiVersion", "status")
	meta, spec := f.below("metadata"), f.below("spec")
	f.rest()
	s := job.Spec{
		Schedule: []string{spec.text("schedule")},
		Timezone: spec.text("timeZone"),
		Missed:   job.MissedLatest,
		Retry: &job.Retry{
			Max: 6, Backoff: job.BackoffExponential, Min: job.Duration(10 * time.Second), MaxDelay: job.Duration(6 * time.Minute),
		},
	}
	zone, rest, ok := strings.Cut(s.Schedule[0], " ")
	if name, value, _ := strings.Cut(zone, "="); ok && (name == "TZ" || name == "CRON_TZ") {
		s.Timezone = value
		s.Schedule[0] = strings.TrimSpace(rest)
	}
	if s.Timezone == "" {
		t.note(spec.line, "no timeZone: Kubernetes uses that of its controller manager, the job here uses UTC")
	}
	if strings.HasPrefix(s.Schedule[0], "@every") {
		t.note(spec.lineOf("schedule"), "@every: Kubernetes counts from the last run, rota from 1970-01-01T00:00:00Z")
	}
	s.Schedule[0] = t.robfigSchedule(spec.lineOf("schedule"), "Kubernetes", s.Schedule[0])
	switch spec.text("concurrencyPolicy") {
	case "", "Allow":
		s.Overlap = job.OverlapAllow
	case "Forbid":
		s.Overlap = job.OverlapSkip
		t.note(spec.lineOf("concurrencyPolicy"), "concurrencyPolicy: Forbid: when a Job ends, Kubernetes starts the latest slot that "+
			"came due meanwhile; overlap: skip drops it, overlap: queue keeps all")
	case "Replace":
		s.Overlap = job.OverlapReplace
	}
	s.MissedWindow = job.Duration(time.Duration(spec.number("startingDeadlineSeconds")) * time.Second)
	if s.MissedWindow == 0 && spec.has("startingDeadlineSeconds") { // no window would be one without end
		s.Missed = job.MissedNone
		t.lost(spec.lineOf("startingDeadlineSeconds"), "startingDeadlineSeconds: 0: Kubernetes never starts such a job, rota does")
	}
	if spec.truth("suspend", kubectlTrue) {
		t.lost(spec.lineOf("suspend"), "suspend: a job file cannot pause a job; apply the file, then run rota pause %s",
			jobName(meta.text("name")))
	}
	spec.drop("successfulJobsHistoryLimit", "failedJobsHistoryLimit") // rota's own limits of the history keep more runs
	template := spec.below("jobTemplate")
	spec.rest()
	t.podMetadata(template.below("metadata"))
	t.kubernetesJob(template.below("spec"), &s)
	template.rest()
	name := meta.text("name")
	t.metadata(meta, &s)
	t.add(f.line, name, onClockChanges(s, schedule.GapSkip, schedule.FoldBoth))
}

// metadata copies the labels, and the description of the job from the annotations.
func (t *translation) metadata(meta *fields, s *job.Spec) {
	meta.drop("creationTimestamp", "generation", "managedFields", "ownerReferences", "resourceVersion", "uid", "finalizers")
	if namespace := meta.text("namespace"); namespace != "" && namespace != "default" {
		t.note(meta.lineOf("namespace"), "namespace %s: rota has none; jobs need different names", namespace)
	}
	t.labels(meta.below("labels"), s)
	annotations := meta.below("annotations")
	for _, key := range annotations.keys {
		if strings.HasSuffix(key, "description") {
			s.Description = annotations.text(key)
		}
	}
	meta.rest()
}

// labels copies labels whose form rota accepts.
func (t *translation) labels(f *fields, s *job.Spec) {
	for _, key := range f.keys {
		value := f.text(key)
		if err := job.CheckLabel(key, value); err != nil {
			t.lost(f.lineOf(key), "%s: %v", f.name(key), err)
			continue
		}
		put(&s.Labels, key, value)
	}
}

// podMetadata reports labels and annotations of a pod or its Job.
func (t *translation) podMetadata(meta *fields) {
	meta.drop("creationTimestamp", "name")
	meta.lost("labels", "the program has no pod")
	meta.lost("annotations", "the program has no pod")
	meta.rest()
}

func (t *translation) kubernetesJob(f *fields, s *job.Spec) {
	if f.has("backoffLimit") {
		s.Retry.Max = f.number("backoffLimit")
	}
	if s.Retry.Max == 0 { // Kubernetes repeats nothing. Without retry, rota would repeat exit code 75, and runs of lost workers
		s.Retry, s.Delivery = &job.Retry{}, job.AtMostOnce
	}
	s.Timeout = job.Duration(time.Duration(f.number("activeDeadlineSeconds")) * time.Second)
	if s.Timeout > 0 && s.Retry.Max > 0 {
		t.lost(f.lineOf("activeDeadlineSeconds"),
			"activeDeadlineSeconds: it ends all attempts of a Job; the timeout of rota ends one attempt, and another one follows")
	}
	for _, key := range []string{"parallelism", "completions"} {
		if f.number(key) > 1 {
			t.lost(f.lineOf(key), "%s: a run of rota is one process; define one job for each", f.name(key))
		}
	}
	f.drop("ttlSecondsAfterFinished", "completionMode", "selector", "manualSelector", "podReplacementPolicy")
	f.lostIf("suspend", kubectlTrue, "Kubernetes starts nothing until somebody resumes the Job; use approve")
	template := f.below("template")
	f.rest()
	t.podMetadata(template.below("metadata"))
	t.pod(template.below("spec"), s)
	template.rest()
}

func (t *translation) pod(f *fields, s *job.Spec) {
	containers := f.each("containers")
	if len(containers) != 1 {
		t.lost(f.lineOf("containers"), "%d containers: a job of rota is one program", len(containers))
	}
	for _, c := range containers[:min(len(containers), 1)] {
		t.container(c, s)
	}
	if selector := f.below("nodeSelector"); len(selector.keys) > 0 {
		for _, key := range selector.keys {
			put(&s.Workers, key, selector.text(key))
		}
		t.note(selector.line, "nodeSelector: give the workers the same labels")
	}
	if grace := f.number("terminationGracePeriodSeconds"); f.has("terminationGracePeriodSeconds") {
		s.KillGrace = max(job.Duration(time.Duration(grace)*time.Second), job.Duration(time.Millisecond))
	} else if s.KillGrace == 0 {
		s.KillGrace = job.Duration(30 * time.Second)
	}
	f.lost("initContainers", "a job of rota is one program; put the steps into one script")
	f.lost("volumes", "the program sees the worker's own file system")
	f.drop("restartPolicy", "imagePullSecrets", "schedulerName", "enableServiceLinks")
	if f.text("dnsPolicy") != "ClusterFirst" {
		f.lost("dnsPolicy", "the program has the network of the worker")
	}
	f.lostIf("hostNetwork", kubectlTrue, "the program has the network of the worker")
	f.lost("priorityClassName", "give the job a priority")
	f.lost("serviceAccountName", "the program has the rights of the worker")
	f.lost("serviceAccount", "the program has the rights of the worker")
	f.lost("securityContext", "the program runs as the worker's user")
	f.lost("affinity", "choose workers by labels with the key workers")
	f.lost("tolerations", "choose workers by labels with the key workers")
	f.rest()
}

func (t *translation) container(f *fields, s *job.Spec) {
	command, args := f.texts("command"), f.texts("args")
	switch {
	case len(command) == 0 && len(args) == 0:
		t.lost(f.line, "the container has no command: write the entry point of its image")
		s.Command = []string{"false"}
	case len(command) == 0:
		t.lost(f.lineOf("args"), "args without command: write the entry point of the image before them")
		s.Command = append([]string{"false"}, args...)
	case len(command) == 2 && slices.Contains([]string{"/bin/sh", "sh"}, command[0]) && command[1] == "-c" && len(args) == 1:
		s.Shell = args[0]
	case len(command) == 3 && slices.Contains([]string{"/bin/sh", "sh"}, command[0]) && command[1] == "-c" && len(args) == 0:
		s.Shell = command[2]
	default:
		s.Command = slices.Concat(command, args)
	}
	for i, word := range s.Command {
		if strings.Contains(withoutEscapes(word), "$(") {
			t.lost(f.lineOf("command"), "argument %q: Kubernetes fills in $(NAME); use shell and $NAME", word)
		}
		s.Command[i] = unescaped(word)
	}
	f.lost("image", "rota runs the program on the worker: install what "+f.text("image")+" holds there, or use the key kubernetes")
	s.Dir = f.text("workingDir")
	t.variables(f, s)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if strings.Contains(withoutEscapes(s.Shell), "$("+name+")") {
			t.lost(f.line, "shell: Kubernetes fills in $(%[1]s), and a shell runs a command of that name; write $%[1]s", name)
		}
	}
	s.Shell = unescaped(s.Shell)
	resources := f.below("resources")
	t.resources(resources.below("limits"), s)
	resources.lost("requests", "rota reserves nothing: worker.capacity says how many runs a worker takes")
	resources.rest()
	f.lost("volumeMounts", "the program sees the worker's own file system")
	f.lost("envFrom", "name the variables in env, such as NAME: ${file:/run/secrets/name}")
	f.lost("securityContext", "the program runs as the worker's user")
	f.drop("name", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy", "tty", "stdin")
	f.rest()
}

func (t *translation) variables(f *fields, s *job.Spec) {
	for _, v := range f.each("env") {
		name := v.text("name")
		if v.has("valueFrom") {
			source := v.below("valueFrom")
			t.lost(v.line, "variable %s comes from %s: write ${file:…} or ${env:…}", name, strings.Join(source.keys, ", "))
			put(&s.Env, name, "${file:/run/secrets/"+jobName(name)+"}")
		} else {
			value := v.text("value")
			if strings.Contains(withoutEscapes(value), "$(") {
				t.lost(v.line, "variable %s: Kubernetes fills in $(NAME) in %q; write the value", name, value)
			}
			put(&s.Env, name, unescaped(value))
			t.variable(v.line, name, s.Env[name])
		}
		v.rest()
	}
}

// In commands and variables of Kubernetes, two dollar signs are one, and $$(NAME) is no reference.
func unescaped(text string) string      { return strings.ReplaceAll(text, "$$", "$") }
func withoutEscapes(text string) string { return strings.ReplaceAll(text, "$$", "") }
