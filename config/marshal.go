package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/workflow"
	"go.yaml.in/yaml/v4"
)

// Marshal writes jobs as a job file, in the form of MarshalSet.
func Marshal(jobs map[string]job.Spec) ([]byte, error) { return MarshalSet(jobs, nil) }

// MarshalSet writes jobs and limits as a job file, sorted by name. The keys of a job have their documented order. Keys with the
// default value are omitted. If ParseJobs reads the result, it returns the same definitions.
func MarshalSet(jobs map[string]job.Spec, limits map[string]job.LimitSpec) ([]byte, error) {
	list, keys := mapping(), jobKeys.keys()
	specs := make(map[string]*job.Spec, len(jobs))
	for name, spec := range jobs {
		specs[name] = new(spec.WithDefaults())
	}
	inherited := workflow.Of(specs).Inherit(specs)
	for _, name := range sortedKeys(jobs) {
		spec := *specs[name]
		n, err := specNode(spec)
		if err != nil {
			return nil, fmt.Errorf("write job %s: %w", name, err)
		}
		usual := baseOf(spec)
		if spec.Step() {
			usual.Overlap = inherited[name]
		}
		base, err := specNode(usual)
		if err != nil {
			return nil, fmt.Errorf("write job %s: %w", name, err)
		}
		prune(n, base)
		beautify(n, keys)
		list.Content = append(list.Content, scalar("!!str", name), n)
	}
	file := mapping()
	file.Content = append(file.Content, scalar("!!str", "version"), scalar("!!int", version), scalar("!!str", "jobs"), list)
	if len(limits) > 0 {
		n, err := specNode(limits)
		if err != nil {
			return nil, fmt.Errorf("write limits: %w", err)
		}
		for i := 1; i < len(n.Content); i += 2 {
			n.Content[i].Style = yaml.FlowStyle
		}
		file.Content = append(file.Content, scalar("!!str", "limits"), n)
	}
	return dump(file)
}

func dump(n *yaml.Node) ([]byte, error) {
	text, err := yaml.Dump(n, yaml.WithV4Defaults(), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false),
		yaml.WithQuotePreference(yaml.QuoteDouble))
	if err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	return escapeTurns(text), nil
}

// turns are the characters that change the direction of the text behind them.
const turns = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

// escapeTurns writes these characters with a backslash. All texts that have one are in double quotes.
func escapeTurns(text []byte) []byte {
	if !bytes.ContainsAny(text, turns) {
		return text
	}
	for _, c := range turns {
		text = bytes.ReplaceAll(text, []byte(string(c)), fmt.Appendf(nil, `\u%x`, c))
	}
	return text
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// misread matches the texts that programs with YAML 1.1 read as booleans, as numbers with the base 60, or not at all.
var misread = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|=|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)$`)

// Misread reports whether other programs misread a text in YAML that has no quotes.
func Misread(text string) bool { return misread.MatchString(text) }

func scalar(tag, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	if Misread(value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	// newSource refuses the first three unless they are written with a backslash, and the others would turn the text of the file.
	if strings.ContainsAny(value, "\u0085\u2028\u2029"+turns) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// baseOf returns the Spec that s is compared with. A value that s has in common with it is omitted from the file. For a value
// that must always be written, the base has a value that no valid Spec has.
func baseOf(s job.Spec) job.Spec {
	base := job.Spec{After: s.After}
	if s.Retry != nil {
		base.Retry = &job.Retry{Min: s.Retry.Min}
	}
	if s.HTTP != nil {
		base.HTTP = &job.HTTP{JSON: s.HTTP.JSON, Body: s.HTTP.Body}
	}
	if s.Container != nil {
		base.Container = &job.Container{}
	}
	if s.Kubernetes != nil {
		base.Kubernetes = &job.Kubernetes{}
	}
	if s.Calendar != nil {
		base.Calendar = &job.Calendar{}
	}
	for name := range s.Notify {
		if base.Notify == nil {
			base.Notify = job.Notify{}
		}
		base.Notify[name] = job.Notifier{URL: "\x00"}
	}
	if s.Hooks != nil {
		base.Hooks = job.Hooks{}
	}
	base = base.WithDefaults()
	base.After = nil
	if s.Retry != nil {
		base.Retry.Max, base.Retry.Min = math.MinInt, job.DefaultRetryMin
	}
	if s.HTTP != nil {
		base.HTTP.JSON, base.HTTP.Body = nil, ""
	}
	return base
}

// specNode returns a Spec or a limit as YAML. The JSON of both has the keys of a job file in the same order.
func specNode(s any) (*yaml.Node, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	return p.node(0, 0)
}

// prune removes the keys of a mapping whose values are equal to those in base.
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

// layout is the form of a key's value in a written job file.
type layout int

const (
	plain         layout = iota // each entry on a line of its own.
	inFlow                      // on one line: {a: 1} or [a, b].
	inFlowIfShort               // on one line if it is short.
	eachInFlow                  // each value of the mapping is on one line.
	oneQuoted                   // texts in quotes; a list of one text is written as that text.
	quotedInFlow                // texts in quotes, on one line.
	asBlock                     // a text of several lines as a block
)

// beautify gives a mapping the form that a person would write. It uses the layouts of the keys.
func beautify(n *yaml.Node, keys []Key) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := slices.IndexFunc(keys, func(k Key) bool { return k.Name == n.Content[i].Value })
		if at < 0 {
			continue
		}
		value := n.Content[i+1]
		beautify(value, keys[at].Keys)
		switch l := keys[at].layout; l {
		case inFlow:
			value.Style = yaml.FlowStyle
		case inFlowIfShort:
			if isShort(value) {
				value.Style = yaml.FlowStyle
			}
		case eachInFlow:
			for j := 1; j < len(value.Content); j += 2 {
				value.Content[j].Style = yaml.FlowStyle
			}
		case oneQuoted, quotedInFlow:
			for _, item := range value.Content {
				item.Style = yaml.DoubleQuotedStyle
			}
			if l == quotedInFlow {
				value.Style = yaml.FlowStyle
			} else if len(value.Content) == 1 {
				n.Content[i+1] = value.Content[0]
			}
		case asBlock:
			if value.Style == 0 && strings.Contains(value.Value, "\n") {
				value.Style = yaml.LiteralStyle
			}
		case plain:
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
