package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// params returns the parameters in a request as texts. A parameter is a text, a number or a boolean.
func params(given map[string]json.RawMessage) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	all := make(map[string]string, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := bytes.TrimSpace(given[name])
		var text string
		switch {
		case len(value) == 0 || strings.IndexByte("{[n", value[0]) >= 0: // an object, a list or null
			return nil, invalid("body.params."+name, "parameter %s must be a text, a number or a boolean", name)
		case value[0] != '"':
			text = string(value)
		default:
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, invalid("body.params."+name, "parameter %s is not a text: %v", name, err)
			}
		}
		all[name] = text
	}
	return all, nil
}
