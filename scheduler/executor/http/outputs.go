package httpx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// kept keeps the beginning of a response, up to keepBody bytes.
type kept struct{ bytes.Buffer }

func (k *kept) Write(p []byte) (int, error) {
	room := max(0, keepBody-k.Len())
	k.Buffer.Write(p[:min(room, len(p))])
	return len(p), nil
}

// outputs returns the values in a JSON response to which the pointers lead. Texts stay unchanged, other values become JSON.
func outputs(body []byte, pointers map[string]string) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("outputs: the response is not JSON: %w", err)
	}
	list := make(map[string]string, len(pointers))
	for _, name := range slices.Sorted(maps.Keys(pointers)) {
		v, ok := lookUp(doc, pointers[name])
		if !ok {
			return nil, fmt.Errorf("output %s: the response has nothing at %s", name, pointers[name])
		}
		if text, isText := v.(string); isText {
			list[name] = text
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("output %s: %w", name, err)
		}
		list[name] = string(text)
	}
	return list, job.CheckOutputs(list)
}

// lookUp follows a JSON Pointer (RFC 6901).
func lookUp(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for key := range strings.SplitSeq(pointer[1:], "/") {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) || key != strconv.Itoa(i) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}
