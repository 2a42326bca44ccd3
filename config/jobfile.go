package config

import (
	"slices"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// version is the version of job files that this package reads.
const version = "1"

// topKeys lists the keys at the top of a job file, in the order of a written file.
var topKeys = []string{"version", "defaults", "jobs", "limits", "notifiers", "calendars", "hooks"}

// document reads one YAML document. Each document is a job file of its own.
func (l *loader) document(r *reader, root *yaml.Node) {
	if r.foreign(root) {
		return
	}
	values := map[string]*yaml.Node{}
	ok := r.pairs(root, "a job file", func(key, value *yaml.Node) {
		switch name := key.Value; {
		case !slices.Contains(topKeys, name):
			r.unknownTop(key, value)
			return
		case name == "version":
			if value.Value != version || value.Tag != "!!int" {
				r.fail(value, "write version: "+version, "version must be %s, not %s", version, r.kindOf(value))
			}
			return
		case !isNull(value):
		case name == "defaults":
			return
		case name == "jobs":
			r.fail(key, "add jobs below it, or write jobs: {} for none", "jobs has no value")
		default:
			r.fail(key, "add "+name+" below it, or remove it", "%s has no value", name)
		}
		values[key.Value] = value
	})
	if !ok {
		return
	}
	define := func(name string, one func(key, value *yaml.Node)) {
		if n := values[name]; n != nil && !isNull(n) {
			r.pairs(n, name, one)
		}
	}
	define("notifiers", func(key, value *yaml.Node) { r.notifier(&l.notifiers, key, value) })
	define("hooks", func(key, value *yaml.Node) { l.hook(r, key, value) })
	defaults, jobs := values["defaults"], values["jobs"]
	if defaults != nil {
		r.defaults(defaults)
	}
	define("limits", func(key, value *yaml.Node) { l.limit(r, key, value) })
	define("calendars", func(key, value *yaml.Node) { l.calendar(r, key, value) })
	switch {
	case jobs == nil && defaults != nil:
		r.fail(keyOf(root, "defaults"), "put them into the files that have the jobs, or write jobs: {} for none",
			"defaults are for the jobs of their own file, which has none")
	case len(values) == 0:
		r.fail(root, "add jobs:, limits:, notifiers:, calendars: or hooks:, or write jobs: {} for none", "job file has no jobs")
	case jobs != nil && jobs.Kind == yaml.SequenceNode:
		r.fail(jobs, "write a name and a colon in place of each dash: backup: {every: 1h, shell: ./backup}",
			"jobs must be a mapping, not a list")
	default:
		define("jobs", func(key, value *yaml.Node) { l.job(r, key, value, defaults) })
	}
}

func (r *reader) unknownTop(key, value *yaml.Node) {
	switch {
	case slices.Contains(jobKeys.names(), key.Value):
		r.fail(key, "indent it below jobs: and the job's name", "key %s belongs to a job", quote(key.Value))
		return
	case slices.ContainsFunc(jobKeys.names(), func(k string) bool { return child(value, k) != nil }):
		r.fail(key, "indent it below jobs:", "job %s does not stand below jobs", quote(key.Value))
		return
	}
	r.unknown(key, "a job file", topKeys)
}

// defaultKeys are the keys of a job that may also stand in defaults.
var defaultKeys = slices.DeleteFunc(slices.Clone(jobKeys), func(f row[job.Spec]) bool { return f.perJob })

// defaults checks the defaults themselves, because the file may have no job that uses them.
func (r *reader) defaults(n *yaml.Node) {
	var spec job.Spec
	ok := readKeys(r, n, "defaults", "", defaultKeys, func(key *yaml.Node) {
		if slices.Contains(jobKeys.names(), key.Value) {
			r.fail(key, "write it into each job", "%s cannot be a default", quote(key.Value))
			return
		}
		r.unknownOfJob(key, "defaults", defaultKeys)
	}, &spec)
	if ok {
		r.schedule(n, nil, "defaults", &spec, false)
	}
}

// job reads one job and adds it.
func (l *loader) job(r *reader, key, value, defaults *yaml.Node) {
	if l.c.full() {
		return
	}
	name := key.Value
	if name == job.AdHoc {
		r.fail(key, "choose another name", "job name %q is reserved for commands that are submitted without a job", name)
	}
	what, ok := l.jobs.declare(r, key, value)
	if !ok {
		return
	}
	before := r.mistakes()
	own := value
	value = withDefaults(value, defaults)
	r.outputs, r.params = nil, nil
	var spec job.Spec
	misspelt := false // whether a key looks like a misspelt action
	ok = readKeys(r, value, what, "", jobKeys, func(key *yaml.Node) {
		meant := r.unknownOfJob(key, what, jobKeys)
		misspelt = misspelt || slices.ContainsFunc(meant, func(k string) bool { return slices.Contains(actions, k) })
	}, &spec)
	if !ok {
		return
	}
	l.limits.use(r, child(value, "limits"), name)
	l.notifiers.use(r, child(value, "notify"), name)
	l.useParents(r, child(own, "after"), name)
	l.useHooks(r, child(own, "hooks"), name, spec.Hooks)
	l.useCalendar(r, child(value, "calendar"), name, spec.Calendar)
	if child(own, "after") != nil {
		r.step(own, what, &spec, l.exists != nil)
	}
	r.schedule(value, key, name, &spec, true)
	r.checkOutputs(own, &spec)
	r.checkEveryWorker(own, what, &spec)
	r.checkParams(own, what, &spec)
	r.retry(own, value, &spec)
	if !misspelt {
		r.action(own, key, what, &spec)
	}
	if err := spec.CheckPayload(spec.Payload); err != nil {
		r.fail(child(own, "payload"), "keep large data elsewhere and name the place", "%v", err)
	}
	if r.mistakes() == before {
		l.outputs = append(l.outputs, r.outputs...)
		l.jobs.set(name, spec.WithDefaults())
		l.sound = append(l.sound, jobKey{r, key, own})
	}
}

// jobKey is the place of the name of a job in which no mistake was found.
type jobKey struct {
	r     *reader
	node  *yaml.Node
	value *yaml.Node // the job's mapping
}

// checkSizes reports jobs that are too large for the store. The size of a job includes the notifiers that it names.
func (l *loader) checkSizes() {
	for _, key := range l.sound {
		spec := l.jobs.known[key.node.Value].Spec
		if size := spec.Size(); size > job.MaxSpec {
			key.r.failLarge(key.node, "keep large data elsewhere and name the place", "job %s has %d bytes as JSON, at most %d are allowed",
				quote(key.node.Value), size, job.MaxSpec)
		}
	}
}

// withDefaults returns a job's mapping, with the keys added that only defaults has. For inner mappings, such as env and retry, it
// does the same key by key. An empty mapping ({}) means none and takes no default. A calendar replaces the one of defaults, because
// the days of one calendar are no default for another.
func withDefaults(own, defaults *yaml.Node) *yaml.Node {
	if defaults == nil || own.Kind != yaml.MappingNode || defaults.Kind != yaml.MappingNode {
		return own
	}
	merged := *own
	merged.Content = append([]*yaml.Node(nil), own.Content...)
	for i := 0; i+1 < len(own.Content); i += 2 {
		key, value := own.Content[i].Value, own.Content[i+1]
		inherited := child(defaults, key)
		if key == "calendar" {
			continue
		}
		if inherited == nil || inherited.Kind != yaml.MappingNode || value.Kind != yaml.MappingNode || len(value.Content) == 0 {
			continue
		}
		filled := *value
		filled.Content = append(append([]*yaml.Node(nil), value.Content...), missingPairs(value, inherited)...)
		merged.Content[i+1] = &filled
	}
	missing := missingPairs(own, defaults)
	for i := 0; i+1 < len(missing); i += 2 {
		// All other keys were reported when defaults were read.
		if defaultKeys.has(missing[i].Value) {
			merged.Content = append(merged.Content, missing[i], missing[i+1])
		}
	}
	return &merged
}

// child returns the value of a key; nil if the mapping lacks it or n is no mapping.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
