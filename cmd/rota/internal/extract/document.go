package extract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// document is a decoded JSON document.
type document struct {
	root  any   // maps, slices, strings, int64, float64, bool, nil
	items []any // the elements of a list; the document itself if it is not a list
}

func read(doc []byte) (document, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return document{}, fmt.Errorf("read document: %w", err)
	}
	root = numbers(root)
	d := document{root: root, items: []any{root}}
	switch v := root.(type) {
	case []any:
		d.items, d.root = v, map[string]any{"items": v}
	case map[string]any:
		if list, ok := onlyList(v); ok {
			d.items, v["items"] = list, list
		}
	}
	for _, item := range d.items {
		if m, ok := item.(map[string]any); ok && m["name"] == nil {
			if name := nameOf(item); name != "" {
				m["name"] = name
			}
		}
	}
	return d, nil
}

// onlyList returns the list of a document that is only a container: it has no name, and exactly one list.
func onlyList(m map[string]any) (list []any, ok bool) {
	if nameOf(m) != "" {
		return nil, false
	}
	for _, v := range m {
		if found, isList := v.([]any); isList {
			if ok {
				return nil, false
			}
			list, ok = found, true
		}
	}
	return list, ok
}

// nameOf returns the word by which commands accept an element; "" if it has none.
func nameOf(item any) string {
	m, _ := item.(map[string]any)
	for _, key := range []string{"name", "run", "id", "job"} {
		if s, ok := m[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// numbers replaces each json.Number by an int64 or a float64, so that expressions can compare it and print it in full.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = numbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // a number beyond float64 becomes infinite
		return f
	}
	return v
}
