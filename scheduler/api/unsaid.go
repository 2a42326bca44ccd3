package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// zeros are the places of a job at which a zero or an empty text is a value, as in a job file.
var zeros = map[string]bool{"body.description": true, "body.jitter": true, "body.missed_window": true, "body.priority": true}

// data are those of what is passed on as it is.
var data = map[string]bool{"body.payload": true, "body.http.json": true}

// unsaid refuses what a request's body gives and read, which is what was made of it, no longer has: a zero or an empty list
// where that is no value. `every: 0s` would make a job that never runs, and `pids: 0` one without a limit. null says that
// nothing is given.
func unsaid(raw []byte, read any) error {
	text, err := json.Marshal(read)
	if err != nil {
		return fmt.Errorf("write what was asked for: %w", err)
	}
	var given, kept any
	if json.Unmarshal(raw, &given) != nil || json.Unmarshal(text, &kept) != nil {
		return nil // it has been read before
	}
	return lost("body", given, kept)
}

// lost looks for the first value of given, by name, that kept does not have, or an empty list. An empty object may stand
// anywhere.
func lost(at string, given, kept any) error {
	object, ok := given.(map[string]any)
	if !ok {
		return nil
	}
	have, _ := kept.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value, place := object[name], at+"."+name
		other, ok := have[name]
		list, several := value.([]any)
		fields, nested := value.(map[string]any)
		switch {
		case value == nil || zeros[place] || data[place] || nested && len(fields) == 0:
		case ok && (!several || len(list) > 0):
			if err := lost(place, value, other); err != nil {
				return err
			}
		case strings.ToLower(name) != name: // encoding/json reads it as the field all the same
			return invalid(place, "unknown field, did you mean %q?", strings.ToLower(name))
		default:
			text, _ := json.Marshal(value) // it was read from JSON
			return invalid(place, "%s is no value here: give another one, or leave it out", text)
		}
	}
	return nil
}

// twiceKey is that of the place of a field that a request's body gives twice.
type twiceKey struct{}

// twice returns the place of the first field of a JSON value that is given twice, "" if none is: encoding/json takes the last
// one and says nothing. Nor is there any in what is no JSON, or nested beyond what encoding/json reads.
func twice(value []byte) string {
	if !json.Valid(value) {
		return ""
	}
	path := repeated(json.NewDecoder(bytes.NewReader(value)))
	slices.Reverse(path)
	return strings.Join(path, ".")
}

// repeated is the path, from its end, to the first field that the next value has twice.
func repeated(dec *json.Decoder) []string {
	token, err := dec.Token()
	kind, nested := token.(json.Delim)
	if err != nil || !nested {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		name := ""
		if kind == '{' {
			token, _ := dec.Token()
			if name, _ = token.(string); seen[name] {
				return []string{name}
			}
			seen[name] = true
		}
		if path := repeated(dec); path != nil && kind == '{' {
			return append(path, name)
		} else if path != nil {
			return path
		}
	}
	_, _ = dec.Token() // its end
	return nil
}
