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

// errLongValue says that one value of a response is longer than an output may ever be.
var errLongValue = fmt.Errorf("a value of the response is longer than %d bytes", keepBody)

// outputs reads a JSON response and returns the values to which the pointers lead. Texts stay unchanged, other values become JSON.
// It keeps no other value, and none may be longer than keepBody. So the response may be large.
func outputs(body io.Reader, pointers map[string]string) (map[string]string, error) {
	in := &rationed{from: body}
	s := search{in: in, dec: json.NewDecoder(in), found: make(map[string]any, len(pointers))}
	s.dec.UseNumber()
	for _, pointer := range pointers {
		s.wanted = append(s.wanted, canonical(pointer))
	}
	switch err := s.value(""); {
	case errors.Is(err, errLongValue):
		return nil, fmt.Errorf("outputs: %w", err)
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("outputs: the response is not JSON: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, fmt.Errorf("outputs: the response is not JSON: %w", err)
	}
	list := make(map[string]string, len(pointers))
	for _, name := range slices.Sorted(maps.Keys(pointers)) {
		v, ok := s.found[canonical(pointers[name])]
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

// canonical returns a JSON Pointer (RFC 6901) in its only form with all escapes.
func canonical(pointer string) string {
	keys := strings.Split(pointer, "/")
	for i, key := range keys {
		keys[i] = escape.Replace(strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~"))
	}
	return strings.Join(keys, "/")
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// search reads JSON and keeps the values to which some JSON Pointers lead.
type search struct {
	in     *rationed
	dec    *json.Decoder
	wanted []string       // canonical
	found  map[string]any // by pointer
}

// value reads the value at a pointer. Of two values with the same key, the last one counts.
func (s *search) value(at string) error {
	leads := false
	for _, pointer := range s.wanted {
		if rest, ok := strings.CutPrefix(pointer, at); ok && (rest == "" || rest[0] == '/') {
			delete(s.found, pointer)
			leads = true
		}
	}
	if slices.Contains(s.wanted, at) {
		var v any
		s.in.room = keepBody
		if err := s.dec.Decode(&v); err != nil {
			return err
		}
		s.keep(at, v)
		return nil
	}
	t, err := s.token()
	switch {
	case err != nil:
		return err
	case t != json.Delim('{') && t != json.Delim('['):
		return nil
	case !leads:
		return s.skip()
	}
	for i := 0; s.more(); i++ {
		key := strconv.Itoa(i)
		if t == json.Delim('{') {
			name, err := s.token()
			if err != nil {
				return err
			}
			key = escape.Replace(name.(string))
		}
		if err := s.value(at + "/" + key); err != nil {
			return err
		}
	}
	_, err = s.token()
	return err
}

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
		t, err := s.token()
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

func (s *search) token() (json.Token, error) {
	s.in.room = keepBody
	return s.dec.Token()
}

func (s *search) more() bool {
	s.in.room = keepBody
	return s.dec.More()
}

// rationed reads at most room bytes, and then fails.
type rationed struct {
	from io.Reader
	room int
}

func (r *rationed) Read(p []byte) (int, error) {
	if r.room <= 0 {
		return 0, errLongValue
	}
	n, err := r.from.Read(p[:min(r.room, len(p))])
	r.room -= n
	return n, err
}
