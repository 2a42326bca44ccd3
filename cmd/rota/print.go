package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// format is an output format, the value of the flag --output.
type format string

const (
	formatTable format = "table" // for people
	formatWide  format = "wide"  // for people, with more columns and absolute times
	formatJSON  format = "json"  // the document of the API
	formatYAML  format = "yaml"  // the same in YAML
)

func formats() []string {
	return []string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML)}
}

// String implements pflag.Value.
func (f *format) String() string {
	if *f == "" {
		return string(formatTable)
	}
	return string(*f)
}

// Set implements pflag.Value.
func (f *format) Set(s string) error {
	if !slices.Contains(formats(), s) {
		return fmt.Errorf("use %s", strings.Join(formats(), ", "))
	}
	*f = format(s)
	return nil
}

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// forPeople reports whether the format is text for people, not data.
func (c *cli) forPeople() bool { return c.format != formatJSON && c.format != formatYAML }

// print writes v as data, or calls text to write it for people.
func (c *cli) print(v any, text func(p *page)) error {
	var out bytes.Buffer
	if c.forPeople() {
		text(&page{out: &out, now: c.now(), wide: c.format == formatWide, color: c.colored(), full: !isTerminal(c.out)})
	} else {
		b, err := encode(v)
		if err != nil {
			return err
		}
		if c.format == formatYAML {
			if b, err = toYAML(b); err != nil {
				return err
			}
		}
		out.Write(b)
	}
	_, err := c.out.Write(out.Bytes())
	return err
}

// encode writes v as indented JSON.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write json: %w", err)
	}
	return out.Bytes(), nil
}

// toYAML converts a JSON document into YAML and keeps the order of its keys.
func toYAML(doc []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	root, err := yamlNode(dec)
	if err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	out, err := yaml.Dump(root, yaml.WithV4Defaults(), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false),
		yaml.WithQuotePreference(yaml.QuoteDouble))
	if err != nil {
		return nil, fmt.Errorf("write yaml: %w", err)
	}
	return out, nil
}

// yamlNode reads one JSON value as a node of YAML. The YAML library cannot read all JSON: it does not know surrogate pairs.
func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		if v == '[' {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		}
		for dec.More() {
			child, err := yamlNode(dec) // in an object, keys and values alternate
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err := dec.Token()
		return n, err
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		switch strings.ToLower(v) {
		case "yes", "no", "on", "off", "y", "n": // other programs read them as booleans
			n.Style = yaml.DoubleQuotedStyle
		}
		return n, nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(v.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: v.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
}
