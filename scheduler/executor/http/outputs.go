package httpx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// beginning passes on the first room bytes that are written to it.
type beginning struct {
	to   io.Writer
	room int
	cut  bool // more was written
}

func (b *beginning) Write(p []byte) (int, error) {
	n := min(b.room, len(p))
	b.room -= n
	b.cut = b.cut || n < len(p)
	if _, err := b.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// outputs reads a JSON response and returns the values to which the pointers lead. Texts stay unchanged, other values become JSON.
// It keeps no other value, so the response may be large.
func outputs(body io.Reader, pointers map[string]string) (map[string]string, error) {
	s := search{dec: json.NewDecoder(body), found: make(map[string]any, len(pointers))}
	s.dec.UseNumber()
	for _, pointer := range pointers {
		s.wanted = append(s.wanted, pointer)
	}
	err := s.value("")
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("outputs: the response is not JSON: %w", err)
	}
	list := make(map[string]string, len(pointers))
	for _, name := range slices.Sorted(maps.Keys(pointers)) {
		v, ok := s.found[pointers[name]]
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

// search reads JSON and keeps the values to which some JSON Pointers (RFC 6901) lead.
type search struct {
	dec    *json.Decoder
	wanted []string
	found  map[string]any // by pointer
}

// value reads the value at a pointer.
func (s *search) value(at string) error {
	if slices.Contains(s.wanted, at) {
		var v any
		if err := s.dec.Decode(&v); err != nil {
			return err
		}
		s.keep(at, v)
		return nil
	}
	t, err := s.dec.Token()
	if err != nil {
		return err
	}
	leads := slices.ContainsFunc(s.wanted, func(pointer string) bool { return strings.HasPrefix(pointer, at+"/") })
	switch {
	case t != json.Delim('{') && t != json.Delim('['):
		return nil
	case !leads:
		return s.skip()
	}
	for i := 0; s.dec.More(); i++ {
		key := strconv.Itoa(i)
		if t == json.Delim('{') {
			name, err := s.dec.Token()
			if err != nil {
				return err
			}
			key = escape.Replace(name.(string))
		}
		if err := s.value(at + "/" + key); err != nil {
			return err
		}
	}
	_, err = s.dec.Token()
	return err
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// keep keeps the wanted values that v, the value at a pointer, contains.
func (s *search) keep(at string, v any) {
	if slices.Contains(s.wanted, at) {
		s.found[at] = v
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			s.keep(at+"/"+escape.Replace(key), inner)
		}
	case []any:
		for i, inner := range v {
			s.keep(at+"/"+strconv.Itoa(i), inner)
		}
	}
}

// skip reads to the end of the object or list whose beginning was read.
func (s *search) skip() error {
	for depth := 1; depth > 0; {
		t, err := s.dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}
