package budget

import (
	"slices"
	"text/template"
	"text/template/parse"
)

// MayLoop reports whether a template may run for long, as with {{ range 1000000000 }}.
func MayLoop(t *template.Template) bool {
	return slices.ContainsFunc(t.Templates(), func(t *template.Template) bool { return t.Tree != nil && loops(t.Root) })
}

func loops(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.RangeNode, *parse.TemplateNode:
		return true
	case *parse.IfNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.WithNode:
		return loops(n.List) || loops(n.ElseList)
	case *parse.ListNode:
		return n != nil && slices.ContainsFunc(n.Nodes, loops)
	}
	return false
}

// Count makes a template count the repetitions of its loops and the calls of its templates. It changes the template.
func Count(t *template.Template) {
	step := template.Must(template.New("").Funcs(New(0, 0).Functions()).Parse("{{" + stepFunc + "}}")).Root.Nodes[0]
	for _, one := range t.Templates() {
		if one.Tree != nil && one.Root != nil {
			count(one.Root, step)
			one.Root.Nodes = append([]parse.Node{step.Copy()}, one.Root.Nodes...)
		}
	}
}

func count(n parse.Node, step parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				count(c, step)
			}
		}
	case *parse.IfNode:
		count(n.List, step)
		count(n.ElseList, step)
	case *parse.WithNode:
		count(n.List, step)
		count(n.ElseList, step)
	case *parse.RangeNode:
		count(n.List, step)
		count(n.ElseList, step)
		n.List.Nodes = append([]parse.Node{step.Copy()}, n.List.Nodes...)
	}
}
