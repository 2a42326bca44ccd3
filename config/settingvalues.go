package config

import (
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// read stores the value of a node in the setting's field.
func (s setting) read(r *reader, n *yaml.Node, to *Settings) {
	switch p := s.at(to).(type) {
	case *string:
		*p = r.required(n, s.key, maxText)
	case *bool:
		*p = r.boolean(n, s.key)
	case *int:
		*p = r.number(n, s.key, job.Range[int]{High: 1_000_000})
	case *time.Duration:
		*p = r.duration(n, s.key, job.Range[job.Duration]{High: job.MaxDuration}).Std()
	case *LogLevel:
		*p = choice(r, n, s.key, LogLevels())
	case *AuthMode:
		*p = choice(r, n, s.key, AuthModes())
	case *Rejoin:
		*p = choice(r, n, s.key, Rejoins())
	case *LogFormat:
		*p = choice(r, n, s.key, LogFormats())
	case *map[string]string:
		*p = r.labels(n, s.key)
	case *[]string:
		r.items(n, s.key, true, func(_ int, n *yaml.Node) { *p = append(*p, r.required(n, s.key, maxURL)) })
	case *[]netip.Prefix:
		r.items(n, s.key, true, func(_ int, n *yaml.Node) { *p = append(*p, r.network(n, s.key)) })
	}
}

// node returns the value of the setting in from as a node; nil if the value is empty.
func (s setting) node(from *Settings) *yaml.Node {
	switch p := s.at(from).(type) {
	case *string:
		return textNode(*p)
	case *bool:
		return scalar("!!bool", strconv.FormatBool(*p))
	case *int:
		return scalar("!!int", strconv.Itoa(*p))
	case *time.Duration:
		return scalar("!!str", job.Duration(*p).String())
	case *LogLevel:
		return textNode(string(*p))
	case *AuthMode:
		return textNode(string(*p))
	case *Rejoin:
		return textNode(string(*p))
	case *LogFormat:
		return textNode(string(*p))
	case *map[string]string:
		if len(*p) > 0 {
			n := mapping()
			for _, k := range sortedKeys(*p) {
				n.Content = append(n.Content, scalar("!!str", k), scalar("!!str", (*p)[k]))
			}
			return n
		}
	case *[]string:
		return listNode(*p)
	case *[]netip.Prefix:
		texts := make([]string, len(*p))
		for i, network := range *p {
			texts[i] = network.String()
		}
		return listNode(texts)
	}
	return nil
}

// textNode returns a text as a node; nil for an empty text.
func textNode(text string) *yaml.Node {
	if text == "" {
		return nil
	}
	return scalar("!!str", text)
}

// listNode returns a list as a node; nil for an empty list.
func listNode(values []string) *yaml.Node {
	if len(values) == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, v := range values {
		n.Content = append(n.Content, scalar("!!str", v))
	}
	return n
}

// network reads a network such as 10.0.0.0/8, or one address.
func (r *reader) network(n *yaml.Node, what string) netip.Prefix {
	text := r.required(n, what, maxURL)
	if text == "" {
		return netip.Prefix{}
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen())
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		r.fail(n, "such as 10.0.0.0/8, fd00::/8 or 127.0.0.1", "%s %s is not a network", what, quote(text))
	}
	return network.Masked()
}

// elements returns the elements of a list in a flag or a variable: by commas, or in brackets as a file or JSON has it. Patterns and
// addresses of IPv6 have brackets of their own.
func elements(text string) []string {
	quotes := ""
	if inner := strings.Trim(text, "[]"); text == "["+inner+"]" && !strings.ContainsAny(inner, "[]") {
		text, quotes = inner, `"'`
	}
	list := strings.Split(text, ",")
	for i, element := range list {
		list[i] = strings.Trim(strings.TrimSpace(element), quotes)
	}
	return list
}

// parse converts the text of a flag, a variable or a default into the node that a settings file would have.
func (s setting) parse(text string) *yaml.Node {
	tag := "!!str"
	switch s.at(&Settings{}).(type) {
	case *bool:
		if b, err := strconv.ParseBool(text); err == nil {
			tag, text = "!!bool", strconv.FormatBool(b)
		}
	case *int, *time.Duration:
		if _, err := strconv.Atoi(text); err == nil {
			tag = "!!int"
		}
	case *[]string, *[]netip.Prefix:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, element := range elements(text) {
			n.Content = append(n.Content, scalar("!!str", element))
		}
		return n
	case *map[string]string:
		n := mapping()
		for part := range strings.SplitSeq(text, ",") {
			k, v, ok := strings.Cut(part, "=")
			if !ok {
				return scalar("!!str", text)
			}
			n.Content = append(n.Content, scalar("!!str", strings.TrimSpace(k)), scalar("!!str", strings.TrimSpace(v)))
		}
		return n
	}
	return scalar(tag, text)
}

// YAML returns the settings as a settings file. It contains no secrets, because settings only name the files that contain
// secrets.
func (s Settings) YAML() []byte {
	root := mapping()
	for _, setting := range settings {
		if len(s.Etcd.Endpoints) > 0 && strings.HasPrefix(setting.key, "etcd.embedded.") {
			continue // it has no effect
		}
		if value := setting.node(&s); value != nil {
			put(root, strings.Split(setting.key, "."), value)
		}
	}
	text, err := dump(root)
	if err != nil { // the encoding of scalars cannot fail
		return nil
	}
	return text
}

func put(n *yaml.Node, path []string, value *yaml.Node) {
	if len(path) == 1 {
		n.Content = append(n.Content, scalar("!!str", path[0]), value)
		return
	}
	below := child(n, path[0])
	if below == nil {
		below = mapping()
		n.Content = append(n.Content, scalar("!!str", path[0]), below)
	}
	put(below, path[1:], value)
}
