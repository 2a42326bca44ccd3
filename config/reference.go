package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// fileKeys are the keys at the top of a job file. The keys of jobs are in jobKeys, since defaults have most of them too.
func fileKeys() []Key {
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
	}
}

// Keys returns the keys of a job in the order in which they are written. Keys of mappings are below them.
func Keys() []Key { return jobKeys.keys() }

// Describe returns the key at a path such as retry.max. It looks among the keys of a job first, then from the top of a job
// file: limits.concurrent is a key of a limit. If there is no such key, near lists the paths that were probably meant.
func Describe(path string) (k Key, near []string, ok bool) {
	var paths []string
	for _, keys := range [][]Key{jobKeys.keys(), fileKeys()} {
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

// nearest returns at most three paths that are close to a word, or whose last key is the word.
func nearest(word string, paths []string) (near []string) {
	for _, path := range paths {
		if path[strings.LastIndexByte(path, '.')+1:] == word {
			near = append(near, path)
		}
	}
	if one := Nearest(word, paths); one != "" && len(near) == 0 {
		near = append(near, one)
	}
	return near[:min(len(near), 3)]
}

// Fragment returns the JSON Schema of the key's value. It refers to no other schema.
func (k *Key) Fragment() []byte { return encoded(inlined(k.described())) }

// Reference returns the reference of all keys of a job file in Markdown: a table for jobs and one for each mapping.
func Reference() []byte {
	var b bytes.Buffer
	section := func(heading string, keys []Key) {
		fmt.Fprintf(&b, "## %s\n\n| key | type | default | range | example | meaning |\n|---|---|---|---|---|---|\n", heading)
		for i := range keys {
			keys[i].row(&b)
		}
		b.WriteString("\n")
	}
	section("Keys of a job", jobKeys.keys())
	for _, k := range jobKeys.keys() {
		if k.Keys != nil {
			section("Keys of `"+k.Name+"`", k.Keys)
		}
	}
	section("Keys of a limit", limitKeys.keys())
	section("Keys of a notifier", notifierKeys.keys())
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// row writes the key as a row of a table in Markdown.
func (k *Key) row(b *bytes.Buffer) {
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
	}
	meaning := k.Doc
	if k.Zero != "" {
		meaning += " Without it: " + strings.ToLower(k.Zero[:1]) + k.Zero[1:]
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, k.Type, code(k.Default), k.Range, code(k.Example), meaning)
}
