package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/extract"
	"github.com/rota-scheduler/rota/cmd/rota/internal/top"
	"github.com/rota-scheduler/rota/config"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

// format is an output format, the value of the flag --output.
type format string

const (
	formatTable format = "table" // for people
	formatWide  format = "wide"  // for people, with more columns and absolute times
	formatJSON  format = "json"  // the document of the API
	formatYAML  format = "yaml"  // the same in YAML
	formatName  format = "name"  // one of package extract: the names of the elements
)

// formats lists the formats as people write them. A format that is none of the first four constants is one of package extract.
func formats() []string {
	return append([]string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML)}, extract.Forms()...)
}

// completeFormats completes the value of --output.
func completeFormats(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	for _, f := range formats() {
		list = append(list, strings.TrimSuffix(f, "…"))
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
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
	switch format(s) {
	case formatTable, formatWide, formatJSON, formatYAML:
	default:
		p, err := extract.Parse(s)
		if err != nil {
			return err
		}
		if p == nil {
			return fmt.Errorf("use %s", strings.Join(formats(), ", "))
		}
	}
	*f = format(s)
	return nil
}

// Type implements pflag.Value.
func (f *format) Type() string { return "format" }

// forPeople reports whether the format is text for people, not data.
func (c *cli) forPeople() bool {
	return c.format == "" || c.format == formatTable || c.format == formatWide
}

// wholeDocument reports whether the format prints all of the data.
func (c *cli) wholeDocument() bool { return c.format == formatJSON || c.format == formatYAML }

// print writes v as data, or calls text to write it for people. A command that only reads shows a long text in a pager.
func (c *cli) print(v any, text func(p *page)) error {
	var out bytes.Buffer
	if c.forPeople() {
		text(c.newPage(&out))
		if c.pageable {
			return c.show(out.Bytes())
		}
	} else if err := c.writeData(&out, v); err != nil {
		return err
	}
	_, err := c.out.Write(out.Bytes())
	return c.unprinted(err)
}

// unprinted returns the error of a write to stdout. After a change, it says that the change was made: otherwise a script would make
// it again.
func (c *cli) unprinted(err error) error {
	switch {
	case err == nil, !c.altering, readerGone(err):
		return err
	case c.made != "":
		return fmt.Errorf("%s, but the answer cannot be printed: %w", c.made, err)
	}
	return fmt.Errorf("the cluster has done it, but the answer cannot be printed: %w", err)
}

// newPage returns a page for the terminal or the file that stdout is.
func (c *cli) newPage(out *bytes.Buffer) *page {
	return &page{out: out, now: c.now(), wide: c.format == formatWide, color: c.colored(), full: !isTerminal(c.out)}
}

// writeData writes v in the format of the command line, which is not for people. Texts of other people do not disturb a terminal.
func (c *cli) writeData(to io.Writer, v any) error {
	var text bytes.Buffer
	if err := c.formatData(&text, v); err != nil {
		return err
	}
	shown := text.String()
	if isTerminal(c.out) {
		shown = printable(shown, '\n', '\t')
	}
	_, err := io.WriteString(to, shown)
	return err
}

func (c *cli) formatData(to io.Writer, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	switch c.format {
	case formatJSON:
	case formatYAML:
		if b, err = toYAML(b); err != nil {
			return err
		}
	default:
		p, err := extract.Parse(string(c.format))
		if err != nil {
			return usageError{msg: err.Error()}
		}
		if c.headed {
			p = extract.WithoutHeader(p)
		}
		if err := p.Print(to, b); err != nil {
			wrong := usageError{"print -o " + string(c.format) + ": " + err.Error(), "see the fields with -o json"}
			if c.altering { // a usage error would mean that nothing was done, and a script would do it again
				return &codedError{code: exitFailed, err: c.unprinted(wrong)}
			}
			return wrong
		}
		return nil
	}
	_, err = to.Write(b)
	return err
}

// encode writes v as indented JSON, with escapes for characters that disturb a terminal.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write json: %w", err)
	}
	var text bytes.Buffer
	for _, r := range out.String() {
		if r != '\n' && top.Disturbs(r) {
			fmt.Fprintf(&text, `\u%04x`, r)
			continue
		}
		text.WriteRune(r)
	}
	return text.Bytes(), nil
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
		if config.Misread(v) {
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
