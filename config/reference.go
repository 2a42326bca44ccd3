package config

import (
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/suggest"
)

// FileKeys returns the keys at the top of a job file. Keys returns the keys of a job, most of which may also stand in defaults.
func FileKeys() []Key {
	return []Key{
		{Name: "version", Type: "whole number", Range: version, Example: version, Doc: "The version of this format.",
			Zero: "Version 1.", schema: object{"const": 1}},
		{Name: "defaults", Type: "mapping", Example: "{timezone: Europe/Berlin}", Keys: defaultKeys.keys(),
			Doc: "What the jobs of this file have in common. Jobs add to mappings key by key.", Zero: "The jobs share nothing.",
			schema: mappingSchema(defaultKeys.keys(), nil)},
		{Name: "jobs", Type: "mapping of jobs", Example: "{hello: {shell: echo hello}}", Keys: jobKeys.keys(),
			Doc: "Jobs by name.", Zero: "The file has no jobs.", schema: definitionsOf(jobSchema(jobKeys.keys()), "adhoc")},
		{Name: "limits", Type: "mapping of limits", Example: "{database: {concurrent: 4}}", Keys: limitKeys.keys(),
			Doc: "Cluster-wide limits by name.", Zero: "The file has no limits.", schema: namedBy(limitSchema())},
		{Name: "notifiers", Type: "mapping of notifiers", Example: `{ops: {url: "slack://token@channel"}}`, Keys: notifierKeys.keys(),
			Doc: "Notifiers by name. Jobs name those that report about them.", Zero: "The file has no notifiers.",
			schema: namedBy(ref("notifier"))},
		{Name: "calendars", Type: "mapping of calendars", Example: `{nyse: {weekdays: [mon-fri], ics: nyse.ics}}`,
			Keys: calendarKeys.keys(), Doc: "Calendars by name. Jobs name the one on whose days they run.",
			Zero:   "The file has no calendars.",
			schema: namedBy(calendarSchema())},
		{Name: "hooks", Type: "mapping of hooks", Example: `{deployed: {job: report, secret: "${file:/run/secrets/hook}"}}`,
			Keys: topHookKeys.keys(), Doc: "Hooks by name. A signed request to /v1/hooks/NAME starts the job of the hook.",
			Zero: "No such request starts a job, except by hooks below jobs.", schema: namedBy(hookSchema())},
	}
}

// Keys returns the keys of a job in the order of a written file. If a key is a mapping, its Keys has the keys in the mapping.
func Keys() []Key { return jobKeys.keys() }

// Describe returns the key at a path such as retry.max. It searches the keys of a job first, then the keys from the top of a job
// file. For example, limits.concurrent and limits.NAME.concurrent are a key of a limit. If there is no such key, near has similar
// paths.
func Describe(path string) (k Key, near []string, ok bool) {
	path = strings.ReplaceAll(path, ".NAME.", ".")
	var paths []string
	for _, keys := range [][]Key{jobKeys.keys(), FileKeys()} {
		if k, ok := find(keys, strings.Split(path, ".")); ok {
			return k, nil, true
		}
		paths = pathsOf(paths, "", keys)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasPrefix(p, "jobs.") || strings.HasPrefix(p, "defaults.") })
	slices.Sort(paths)
	return Key{}, nearest(path, slices.Compact(paths)), false
}

func find(keys []Key, path []string) (Key, bool) {
	for i := range keys {
		switch {
		case keys[i].Name != path[0]:
		case len(path) == 1:
			return keys[i], true
		default:
			return find(keys[i].Keys, path[1:])
		}
	}
	return Key{}, false
}

func pathsOf(paths []string, prefix string, keys []Key) []string {
	for i := range keys {
		paths = append(paths, prefix+keys[i].Name)
		paths = pathsOf(paths, prefix+keys[i].Name+".", keys[i].Keys)
	}
	return paths
}

// nearest returns at most three paths that are similar to a word, or whose last key is the word.
func nearest(word string, paths []string) (near []string) {
	for _, path := range paths {
		if path[strings.LastIndexByte(path, '.')+1:] == word {
			near = append(near, path)
		}
	}
	if one := suggest.Nearest(word, paths); one != "" && len(near) == 0 {
		near = append(near, one)
	}
	return near[:min(len(near), 3)]
}

// Fragment returns the JSON Schema of the key's value. It refers to no other schema.
func (k *Key) Fragment() []byte { return encoded(inlined(k.described())) }
