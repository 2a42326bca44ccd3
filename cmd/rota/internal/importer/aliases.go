package importer

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// maxGrowth is how many times larger aliases may make a YAML document.
const maxGrowth = 10

// growth measures a YAML document with its aliases in place of their anchors.
type growth struct {
	room int // nodes
	open map[*yaml.Node]bool
}

// tooLarge returns an error if aliases make a document much larger, or without end. Otherwise a short text could take all memory.
func tooLarge(doc *yaml.Node) error {
	g := growth{room: maxGrowth * (countNodes(doc) + 100), open: map[*yaml.Node]bool{}}
	return g.measure(doc)
}

func (g *growth) measure(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode {
		if n = n.Alias; g.open[n] {
			return fmt.Errorf("line %d: the anchor %q contains itself", n.Line, n.Anchor)
		}
	}
	if g.room--; g.room < 0 {
		return fmt.Errorf("its aliases make it more than %d times larger: write the values themselves", maxGrowth)
	}
	if n.Anchor != "" {
		g.open[n] = true
		defer delete(g.open, n)
	}
	for _, child := range n.Content {
		if err := g.measure(child); err != nil {
			return err
		}
	}
	return nil
}

func countNodes(n *yaml.Node) int {
	count := 1
	for _, child := range n.Content {
		count += countNodes(child)
	}
	return count
}
