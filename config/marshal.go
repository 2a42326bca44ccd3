package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// Marshal writes jobs as a job file: by name, each with its keys in the documented order and without those that say
// what is the default anyway. ParseJobs reads the same jobs from it.
func Marshal(jobs map[string]job.Spec) ([]byte, error) {
	list := mapping()
	for _, name := range sortedKeys(jobs) {
		spec := jobs[name].WithDefaults()
		n, err := specNode(spec)
		if err != nil {
			return nil, fmt.Errorf("write job %s: %w", name, err)
		}
		base, err := specNode(baseOf(spec))
		if err != nil {
			return nil, fmt.Errorf("write job %s: %w", name, err)
		}
		prune(n, base)
		beautify(n)
		list.Content = append(list.Content, scalar("!!str", name), n)
	}
	file := mapping()
	file.Content = append(file.Content, scalar("!!str", "version"), scalar("!!int", version), scalar("!!str", "jobs"), list)
	return dump(file)
}

func dump(n *yaml.Node) ([]byte, error) {
	text, err := yaml.Dump(n, yaml.WithV4Defaults(), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false), yaml.WithQuotePreference(yaml.QuoteDouble))
	if err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	return text, nil
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func scalar(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	switch strings.ToLower(value) {
	case "yes", "no", "on", "off", "y", "n": // other programs read them as booleans
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// baseOf returns the Spec of which every value that it shares with s goes without saying. The values that must be
// said are different from any.
func baseOf(s job.Spec) job.Spec {
	var base job.Spec
	if s.Retry != nil {
		base.Retry = &job.Retry{Min: s.Retry.Min}
	}
	if s.HTTP != nil {
		base.HTTP = &job.HTTP{JSON: s.HTTP.JSON, Body: s.HTTP.Body}
	}
	for name := range s.Notify {
		if base.Notify == nil {
			base.Notify = job.Notify{}
		}
		base.Notify[name] = job.Notifier{URL: "\x00"}
	}
	base = base.WithDefaults()
	if s.Retry != nil {
		base.Retry.Max, base.Retry.Min = math.MinInt, job.DefaultRetryMin
	}
	if s.HTTP != nil {
		base.HTTP.JSON, base.HTTP.Body = nil, ""
	}
	return base
}

// specNode returns a Spec as YAML. Its JSON has the keys of a job file in their order.
func specNode(s job.Spec) (*yaml.Node, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return jsonNode(dec)
}

// jsonNode reads one JSON value, keeping the order of keys.
func jsonNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := mapping()
		if v == '[' {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		for dec.More() {
			child, err := jsonNode(dec) // in an object, keys and values by turns
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle
		}
		_, err := dec.Token()
		return n, err
	case string:
		return scalar("!!str", v), nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("!!float", v.String()), nil
		}
		return scalar("!!int", v.String()), nil
	case bool:
		return scalar("!!bool", fmt.Sprint(v)), nil
	}
	return scalar("!!null", "null"), nil
}

// prune removes what a mapping shares with base.
func prune(n, base *yaml.Node) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		other := child(base, key.Value)
		if same(value, other) {
			continue
		}
		if other != nil && value.Kind == yaml.MappingNode && other.Kind == yaml.MappingNode {
			prune(value, other)
		}
		kept = append(kept, key, value)
	}
	n.Content = kept
}

func same(a, b *yaml.Node) bool {
	if a == nil || b == nil || a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// beautify writes a job as people do: small mappings on one line, a list of one as its element, scripts as blocks.
func beautify(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		switch n.Content[i].Value {
		case "schedule", "at", "exclude":
			for _, item := range value.Content {
				item.Style = yaml.DoubleQuotedStyle
			}
			if len(value.Content) == 1 && n.Content[i].Value != "exclude" {
				n.Content[i+1] = value.Content[0]
			} else if n.Content[i].Value == "exclude" {
				value.Style = yaml.FlowStyle
			}
		case "notify":
			for j := 1; j < len(value.Content); j += 2 {
				value.Content[j].Style = yaml.FlowStyle
			}
		case "dst", "retry", "workers":
			value.Style = yaml.FlowStyle
		case "command":
			if isShort(value) {
				value.Style = yaml.FlowStyle
			}
		case "http":
			if expect := child(value, "expect"); expect != nil {
				expect.Style = yaml.FlowStyle
			}
		case "shell":
			if strings.Contains(value.Value, "\n") {
				value.Style = yaml.LiteralStyle
			}
		}
	}
}

func isShort(n *yaml.Node) bool {
	length := 0
	for _, c := range n.Content {
		length += len(c.Value) + 2
		if strings.Contains(c.Value, "\n") {
			return false
		}
	}
	return length < 100
}
