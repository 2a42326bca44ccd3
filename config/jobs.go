package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Set has the definitions of one or more job files. They are complete, checked and without mistakes.
type Set struct {
	Jobs   map[string]Definition      // by name
	Limits map[string]LimitDefinition // by name
	// Hash is equal for two sets with the same meaning. It does not depend on the form or the location of the files.
	Hash string
	// Files is the number of files that were read, also of those without jobs. A text counts as one file.
	Files int
}

// LoadJobs reads job files in the given order. From a directory it reads the files *.yaml and *.yml, without hidden files and
// subdirectories. It reads a file only once, even if paths has it twice. If there are mistakes, it returns Errors with all
// mistakes of all files.
func LoadJobs(paths []string) (*Set, error) {
	l := newLoader()
	read := map[string]bool{}
	for _, path := range paths {
		files, err := jobFiles(path)
		if err != nil {
			l.c.add(err)
			continue
		}
		for _, file := range files {
			one, err := filepath.Abs(file) // makes different spellings of a path equal
			if err != nil {
				one = file
			}
			if read[one] {
				continue
			}
			read[one] = true
			src, mistake := readSource(file)
			if mistake != nil {
				l.c.add(mistake)
				continue
			}
			l.source(src)
		}
	}
	set, err := l.set()
	if err == nil {
		set.Files = len(read)
	}
	return set, err
}

// ParseJobs reads the text of one job file. Errors and the Set use name as the name of the file.
func ParseJobs(name string, text []byte) (*Set, error) {
	l := newLoader()
	if len(text) > MaxFile {
		l.c.add(&Error{File: name, Msg: fmt.Sprintf("is larger than %d MiB", MaxFile>>20), Hint: "split it into several files"})
		return l.set()
	}
	src, err := newSource(name, text)
	if err != nil {
		l.c.add(err)
		return l.set()
	}
	l.source(src)
	return l.set()
}

// loader collects the definitions of all sources.
type loader struct {
	c         *collector
	jobs      definitions[job.Spec]
	sound     []jobKey
	outputs   []outputUse // in the templates of sound jobs
	limits    definitions[job.LimitSpec]
	notifiers definitions[job.Notifier]
	calendars definitions[job.CalendarDays]
	hooks     definitions[job.Hook]
	hookUses  []hookUse
	exists    Exists // finds definitions in the cluster; nil: only the definitions of the sources exist
	err       error  // the error that exists returned
}

// The kinds of definitions.
const (
	jobKind      = "job"
	limitKind    = "limit"
	notifierKind = "notifier"
	calendarKind = "calendar"
	hookKind     = "hook"
)

const notifierHint = "give it a url"

func newLoader() *loader {
	return &loader{
		c:         &collector{},
		jobs:      newDefinitions[job.Spec](jobKind, "say what it runs: "+oneOf(actions)),
		limits:    newDefinitions[job.LimitSpec](limitKind, "say how much it allows: concurrent, rate or both"),
		notifiers: newDefinitions[job.Notifier](notifierKind, notifierHint),
		calendars: newDefinitions[job.CalendarDays](calendarKind, calendarHint),
		hooks:     newDefinitions[job.Hook](hookKind, hookHint),
	}
}

func (l *loader) source(src *source) {
	before := len(l.c.errs)
	roots := documents(src, l.c)
	if len(roots) == 0 && len(l.c.errs) == before {
		l.c.add(src.blame(1, 1, "is empty", "a job file has jobs:; write jobs: {} for none"))
	}
	for _, root := range roots {
		l.document(&reader{src: src, c: l.c}, root)
	}
}

// set returns the Set. If there are mistakes, it returns all of them instead.
func (l *loader) set() (*Set, error) {
	l.addNotifiers()
	l.addCalendars()
	l.addHooks()
	l.checkLimits()
	l.checkWorkflows()
	l.checkSizes()
	if l.err != nil {
		return nil, l.err
	}
	if err := l.c.err(); err != nil {
		return nil, err
	}
	text, err := encodeSpecs(l.jobs.known)
	if err != nil {
		return nil, err
	}
	if len(l.limits.known) > 0 { // a set without limits keeps the hash that older versions without limits computed
		more, err := encodeSpecs(l.limits.known)
		if err != nil {
			return nil, err
		}
		text = append(text, more...)
	}
	sum := sha256.Sum256(text)
	return &Set{Jobs: l.jobs.known, Limits: l.limits.known, Hash: hex.EncodeToString(sum[:]), Files: 1}, nil
}

// encodeSpecs returns the JSON of specs for the hash of a Set. encoding/json sorts the specs by name.
func encodeSpecs[S any](all map[string]Defined[S]) ([]byte, error) {
	specs := make(map[string]S, len(all))
	for name, d := range all {
		specs[name] = d.Spec
	}
	text, err := json.Marshal(specs)
	if err != nil {
		return nil, fmt.Errorf("hash definitions: %w", err)
	}
	return text, nil
}
