package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// Exists reports whether the cluster has a definition that a request refers to. kind is "limit".
type Exists func(kind, name string) (bool, error)

// ParseJob reads one job from a request in JSON. It accepts the keys of a job file with the same spellings of values. It reports
// the same mistakes: as Errors, each with the path of its key. A key that is null counts as absent. Limits that the job names
// must exist. If exists returns an error, ParseJob returns that error unchanged.
func ParseJob(name string, text []byte, exists Exists) (job.Spec, error) {
	set, err := parseRequest(text, exists, func(l *loader, r *reader, root *yaml.Node) {
		l.job(r, scalar("!!str", name), root, nil)
	})
	if err != nil {
		return job.Spec{}, err
	}
	return set.Jobs[name].Spec, nil
}

// ParseLimit is ParseJob for a limit.
func ParseLimit(name string, text []byte) (job.LimitSpec, error) {
	set, err := parseRequest(text, nil, func(l *loader, r *reader, root *yaml.Node) {
		l.limit(r, scalar("!!str", name), root)
	})
	if err != nil {
		return job.LimitSpec{}, err
	}
	return set.Limits[name].Spec, nil
}

// maxRequestErrors is how many mistakes of one request are kept. The search for what was meant takes time for each.
const maxRequestErrors = 20

func parseRequest(text []byte, exists Exists, read func(l *loader, r *reader, root *yaml.Node)) (*Set, error) {
	l := newLoader()
	l.exists, l.c.most = exists, maxRequestErrors
	// In a file, a job is two levels below the top.
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(text)), places: []place{{}}, levels: maxDepth - 2}
	p.dec.UseNumber()
	root, err := p.node(0, 0)
	src := &source{name: "request", json: true, places: p.places}
	switch {
	case err == nil:
		read(l, &reader{src: src, c: l.c}, root)
	case errors.Is(err, errDepth):
		l.c.add(&Error{File: src.name, Msg: err.Error(), Hint: fmt.Sprintf("at most %d levels are allowed", p.levels)})
	default:
		l.c.add(&Error{File: src.name, Msg: "is not JSON: " + err.Error(), Hint: "send one JSON object"})
	}
	return l.set()
}

// place is the position of a node in a request. It is below the place with the index parent, as a key or as an element of a list.
// Place 0 is the definition itself.
type place struct {
	parent int
	list   bool // the parent is a list
	key    string
	index  int // index of an element in its list
}

// path returns the keys and indexes that lead to a node of a request, such as http.headers.X or limits[0]. absent is a key that
// is missing in the mapping at the node; it may be empty. For a node of a file, path returns "".
func (s *source) path(n *yaml.Node, absent string) string {
	if !s.json {
		return ""
	}
	var steps []string
	if absent != "" {
		steps = append(steps, "."+absent)
	}
	for at := n.Column; at > 0; at = s.places[at].parent {
		if p := s.places[at]; p.list {
			steps = append(steps, "["+strconv.Itoa(p.index)+"]")
		} else {
			steps = append(steps, "."+p.key)
		}
	}
	slices.Reverse(steps)
	return strings.TrimPrefix(strings.Join(steps, ""), ".")
}

var errDepth = errors.New("is nested too deeply")

// jsonParser converts JSON into YAML nodes. Keys keep their order, and duplicate keys are kept. If places is not nil, each node's
// column is the index of its place.
type jsonParser struct {
	dec    *json.Decoder
	places []place // nil: the parser records no places
	levels int     // how deep the text may nest; 0: any depth
}

// node reads one value. at is the index of its place.
func (p *jsonParser) node(at, depth int) (*yaml.Node, error) {
	token, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	var n *yaml.Node
	switch v := token.(type) {
	case json.Delim:
		if depth == p.levels && depth > 0 {
			return nil, errDepth
		}
		if n, err = p.container(v, at, depth); err != nil {
			return nil, err
		}
	case string:
		n = scalar("!!str", v)
	case json.Number:
		n = scalar("!!int", v.String())
		if strings.ContainsAny(v.String(), ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n = scalar("!!bool", strconv.FormatBool(v))
	default:
		n = scalar("!!null", "null")
	}
	n.Column = at
	return n, nil
}

// container reads the rest of an object or a list.
func (p *jsonParser) container(start json.Delim, at, depth int) (*yaml.Node, error) {
	n := mapping()
	list := start == '['
	if list {
		n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	for i := 0; p.dec.More(); i++ {
		step := place{parent: at, index: i, list: list}
		if !list {
			token, err := p.dec.Token()
			if err != nil {
				return nil, err
			}
			step.key, _ = token.(string) // the decoder refuses any other key
		}
		below := 0
		if p.places != nil {
			below = len(p.places)
			p.places = append(p.places, step)
		}
		if !list {
			key := scalar("!!str", step.key)
			key.Column = below
			n.Content = append(n.Content, key)
		}
		value, err := p.node(below, depth+1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, value)
	}
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	_, err := p.dec.Token()
	return n, err
}
