package config

import (
	"bytes"
	"encoding/json"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// Schema returns the JSON Schema (draft 2020-12) of job files, for editors. It accepts every file that ParseJobs
// accepts, and refuses what can be refused without arithmetic.
func Schema() []byte {
	schema := object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "rota job file",
		"type":                 "object",
		"additionalProperties": false,
		"anyOf":                requireOneOf("jobs", "limits", "notifiers"),
		"dependentRequired":    object{"defaults": []string{"jobs"}},
		"properties": object{
			"version":  object{"const": 1, "description": "version of this format"},
			"defaults": mappingOf(schemaOf(fieldNames(defaultFields())), "what the jobs of this file have in common"),
			"jobs": object{
				"type":                 "object",
				"description":          "jobs by name",
				"propertyNames":        object{"pattern": namePattern, "maxLength": job.MaxNameLength, "not": object{"const": job.AdHoc}},
				"additionalProperties": jobSchema(),
			},
			"notifiers": definitionsOf(object{"$ref": "#/$defs/notifier"}, "who may be told of jobs, by name"),
			"limits": object{
				"type":                 "object",
				"description":          "cluster-wide limits by name",
				"propertyNames":        object{"pattern": namePattern, "maxLength": job.MaxNameLength},
				"additionalProperties": limitSchema(),
			},
		},
		"$defs": object{
			"duration": object{"type": "string", "pattern": job.DurationPattern, "examples": []string{"30s", "10m", "1h30m"}},
			"rate":     object{"type": "string", "pattern": ratePattern, "examples": []string{"10/s", "100/m", "5/h"}},
			"word":     object{"type": []string{"string", "number", "boolean"}},
			"notifier": notifierSchema(),
			"words":    object{"type": "object", "additionalProperties": object{"$ref": "#/$defs/word"}, "maxProperties": maxEntries},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil { // nothing in it cannot be encoded
		return nil
	}
	return b.Bytes()
}

const (
	namePattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
	ratePattern = "^[1-9][0-9]{0,5}/[smh]$"
	sizePattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)[KMGT]iB?$`
	cpuPattern  = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)m?$`
	datePattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
	timePattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T"
)

type object map[string]any

func jobSchema() object {
	schema := mappingOf(schemaOf(fieldNames(jobFields)), "")
	schema["oneOf"] = requireOneOf(actions...)
	schema["not"] = object{"anyOf": []object{
		{"required": []string{"schedule", "every"}},
		{"required": []string{"schedule", "at"}},
		{"required": []string{"every", "at"}},
	}}
	return schema
}

func limitSchema() object {
	schema := mappingOf(object{
		"concurrent": integer(job.ConcurrentRange, "runs that may be with workers at a time"),
		"rate":       ref("rate", "of attempts that begin"),
	}, "")
	schema["minProperties"] = 1
	return schema
}

func requireOneOf(names ...string) []object {
	list := make([]object, len(names))
	for i, name := range names {
		list[i] = object{"required": []string{name}}
	}
	return list
}

func mappingOf(properties object, description string) object {
	m := object{"type": "object", "additionalProperties": false, "properties": properties}
	if description != "" {
		m["description"] = description
	}
	return m
}

func schemaOf(names []string) object {
	all, some := keySchemas(), object{}
	for _, name := range names {
		some[name] = all[name]
	}
	return some
}

func ref(name, description string) object {
	return object{"$ref": "#/$defs/" + name, "description": description}
}

func enum[T ~string](values []T, standard T, description string) object {
	e := object{"enum": values, "description": description}
	if standard != "" {
		e["default"] = standard
	}
	return e
}

func text(limit int, description string) object {
	return object{"type": "string", "maxLength": limit, "description": description}
}

func integer(may job.Range[int], description string) object {
	return object{"type": "integer", "minimum": may.Low, "maximum": may.High, "description": description}
}

// oneOrMore is a value or a list of such values.
func oneOrMore(item object, description string) object {
	return object{
		"description": description,
		"anyOf":       []object{item, {"type": "array", "items": item, "minItems": 1}},
	}
}

// keySchemas returns the schema of each key of a job.
func keySchemas() object {
	return object{
		"description": text(maxDescription, "what the job is for"),
		"schedule": oneOrMore(object{"type": "string", "minLength": 1, "maxLength": schedule.MaxExpression},
			"cron expression of 5 or 6 fields, or @daily and the like; or a list of them"),
		"every":    ref("duration", "period; slots lie on its multiples since 1970-01-01T00:00:00Z"),
		"at":       oneOrMore(object{"type": "string", "pattern": timePattern}, "instant (RFC 3339), or a list of them"),
		"timezone": object{"type": "string", "minLength": 1, "default": "UTC", "description": "IANA name of a time zone"},
		"dst": mappingOf(object{
			"gap":  enum(schedule.Gaps(), schedule.GapRun, "a wall time that the clock jumps over"),
			"fold": enum(schedule.Folds(), schedule.FoldFirst, "a wall time that the clock shows twice"),
		}, "changes of the clock"),
		"start":         object{"type": "string", "pattern": timePattern, "description": "no slot before this instant"},
		"end":           object{"type": "string", "pattern": timePattern, "description": "no slot at or after this instant"},
		"exclude":       oneOrMore(object{"type": "string", "pattern": datePattern}, "dates in the job's time zone on which no slot falls"),
		"jitter":        ref("duration", "a run starts at its slot plus a share of this that is fixed per job; less than 24h"),
		"missed":        enum(job.MissedPolicies(), job.MissedLatest, "slots that passed while nobody could dispatch"),
		"missed_window": ref("duration", "older missed slots are skipped"),
		"missed_limit":  integer(job.MissedLimitRange, "cap for missed: all"),
		"overlap":       enum(job.OverlapPolicies(), job.OverlapSkip, "the previous run is still active"),
		"delivery":      enum(job.Deliveries(), job.AtLeastOnce, "an attempt whose worker was lost"),
		"timeout":       ref("duration", "of one attempt"),
		"kill_grace":    ref("duration", "between SIGTERM and SIGKILL"),
		"heartbeat":     ref("duration", "an attempt that reports no progress for so long is ended; at least 1s"),
		"retry": mappingOf(object{
			"max":       integer(job.RetryMaxRange, "further attempts after the first"),
			"backoff":   enum(job.Backoffs(), job.BackoffExponential, "how the delay grows"),
			"min":       ref("duration", "the first delay"),
			"max_delay": ref("duration", "the longest delay"),
			"jitter":    enum(job.RetryJitters(), job.JitterFull, "how the delay is spread"),
		}, "attempts after one that failed"),
		"priority": integer(job.PriorityRange, "higher goes first when workers are short"),
		"workers":  ref("words", "labels that a worker must have"),
		"notify": object{
			"description": "who is told: names of notifiers, or definitions for this job alone",
			"anyOf": []object{
				{"type": "string", "pattern": namePattern},
				{"type": "array", "minItems": 1, "maxItems": maxNotifiers, "items": object{"type": "string", "pattern": namePattern}},
				definitionsOf(object{"$ref": "#/$defs/notifier"}, ""),
			},
		},
		"limits": oneOrMore(object{"type": "string", "pattern": namePattern, "maxLength": job.MaxNameLength},
			"cluster-wide limits that its runs hold, defined beside jobs"),
		"rate": ref("rate", "at which its attempts begin at most"),
		"breaker": mappingOf(object{
			"window":        integer(job.BreakerWindowRange, "how many of the latest attempts it looks back at"),
			"failure_ratio": object{"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": job.DefaultBreakerRatio, "description": "the share of them that has to fail to open it"},
			"open_for":      ref("duration", "how long nothing begins before one run tries"),
		}, "holds the job back while its attempts fail"),
		"command": object{
			"type": "array", "minItems": 1, "maxItems": maxArguments, "items": object{"$ref": "#/$defs/word"},
			"description": "program and arguments",
		},
		"shell":   object{"type": "string", "minLength": 1, "maxLength": maxText, "description": "script for /bin/sh -c"},
		"http":    httpSchema(),
		"handler": object{"type": "string", "minLength": 1, "description": "Go function that the worker's program registers"},
		"env":     ref("words", "environment; ${env:NAME} and ${file:/path} are resolved on the worker"),
		"dir":     object{"type": "string", "minLength": 1, "description": "working directory of command and shell"},
		"resources": mappingOf(object{
			"memory": object{"type": "string", "pattern": sizePattern, "examples": []string{"512MiB", "2GiB"}, "description": "of all its processes together"},
			"cpu":    object{"type": []string{"string", "number"}, "pattern": cpuPattern, "examples": []string{"1", "0.5", "500m"}, "description": "CPUs' worth of time"},
			"pids":   integer(job.PIDsRange, "processes and threads at a time"),
		}, "what the processes of one attempt of command and shell may use"),
		"payload": object{"description": "any data; given to the job as JSON"},
	}
}

// definitionsOf is a mapping of names to what they stand for.
func definitionsOf(item object, description string) object {
	m := object{
		"type": "object", "additionalProperties": item,
		"propertyNames": object{"pattern": namePattern, "maxLength": job.MaxNameLength},
	}
	if description != "" {
		m["description"] = description
	}
	return m
}

func notifierSchema() object {
	schema := mappingOf(object{
		"url":  text(maxURL, "where it is sent, such as slack://… or generic://host/path; may hold ${env:…} and ${file:…}"),
		"when": oneOrMore(enum(job.Occasions(), "", ""), "of what it is told; of everything by default"),
	}, "where messages are sent, and on which occasions")
	schema["required"] = []string{"url"}
	return schema
}

func httpSchema() object {
	schema := mappingOf(object{
		"url":     text(maxURL, "may hold ${env:…}, ${file:…} and {{ .Slot }}"),
		"method":  enum(methods, "", "GET by default, or POST if there is a body"),
		"headers": ref("words", "may hold ${env:…}, ${file:…} and {{ .Slot }}"),
		"json":    object{"description": "body, sent as application/json"},
		"body":    text(maxText, "body, sent as it is"),
		"expect":  oneOrMore(integer(statuses, ""), "statuses that mean success; 2xx by default"),
	}, "request to make")
	schema["required"] = []string{"url"}
	schema["not"] = object{"required": []string{"json", "body"}}
	return schema
}
