package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// maxExpansion is how many nodes the aliases of a file may add to it. It is enough for shared settings. It stops a file in which
// each alias doubles the size.
const maxExpansion = 10_000

// expander replaces aliases and merge keys (<<) by the values that they stand for.
type expander struct {
	src    *source
	c      *collector
	added  int // nodes that aliases have added
	active map[*yaml.Node]bool
	broken bool
}

// expand returns copies of the roots without aliases; nil after a mistake.
func expand(src *source, c *collector, roots []*yaml.Node) []*yaml.Node {
	x := &expander{src: src, c: c, active: map[*yaml.Node]bool{}}
	out := make([]*yaml.Node, 0, len(roots))
	for _, root := range roots {
		out = append(out, x.node(root, nil))
	}
	if x.broken {
		return nil
	}
	return out
}

func (x *expander) fail(n *yaml.Node, hint, msg string) {
	x.broken = true
	x.c.add(x.src.blame(n.Line, n.Column, msg, hint))
}

// node returns a copy of n. via is the alias that leads to n; nil if none does.
func (x *expander) node(n, via *yaml.Node) *yaml.Node {
	if x.broken {
		return n
	}
	if via != nil {
		if x.added++; x.added > maxExpansion {
			x.fail(via, "write out what differs", fmt.Sprintf("aliases blow this file up by more than %d values", maxExpansion))
			return n
		}
	}
	if n.Kind == yaml.AliasNode {
		return x.alias(n)
	}
	x.active[n] = true
	defer delete(x.active, n)

	copied := *n
	copied.Anchor, copied.Content = "", make([]*yaml.Node, 0, len(n.Content))
	if n.Kind != yaml.MappingNode {
		for _, child := range n.Content {
			copied.Content = append(copied.Content, x.node(child, via))
		}
		return &copied
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			if len(merges) > 0 {
				x.c.add(x.src.blame(key.Line, key.Column, fmt.Sprintf("duplicate key %q: first given at line %d", "<<", merges[0].Line),
					"write one with a list: <<: [*a, *b]"))
			}
			merges = append(merges, key, x.node(value, via))
			continue
		}
		copied.Content = append(copied.Content, x.node(key, via), x.node(value, via))
	}
	for i := 0; i < len(merges); i += 2 {
		x.merge(&copied, merges[i], merges[i+1])
	}
	return &copied
}

func (x *expander) alias(n *yaml.Node) *yaml.Node {
	if x.active[n.Alias] {
		x.fail(n, "write out what it stands for", fmt.Sprintf("alias *%s contains itself", n.Value))
		return n
	}
	return x.node(n.Alias, n)
}

// merge adds to the mapping into the keys that it lacks. They come from one mapping or from a list of mappings. If two mappings
// have the same key, the first one wins.
func (x *expander) merge(into, key, from *yaml.Node) {
	list := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		list = from.Content
	}
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			x.fail(key, "such as <<: *name", "<< must be followed by an alias of a mapping, or by a list of them")
			return
		}
		into.Content = append(into.Content, missingPairs(into, m)...)
	}
}

// missingPairs returns the keys of from that in lacks, with their values.
func missingPairs(in, from *yaml.Node) []*yaml.Node {
	have := map[string]bool{}
	for i := 0; i+1 < len(in.Content); i += 2 {
		have[in.Content[i].Value] = true
	}
	var pairs []*yaml.Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		if !have[from.Content[i].Value] {
			pairs = append(pairs, from.Content[i], from.Content[i+1])
		}
	}
	return pairs
}
