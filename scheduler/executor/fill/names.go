package fill

import (
	"slices"
	"text/template"
	"text/template/parse"
)

// Output is an output of a parent that a text reads.
type Output struct{ Job, Name string }

// Outputs returns the outputs that a text reads, each once, as far as the text names them. A text with mistakes has none.
func Outputs(s string) (outputs []Output) {
	t, err := parseText("text", s)
	if err != nil || t.template == nil {
		return nil
	}
	for _, o := range outputsOf(t.template) {
		if !slices.Contains(outputs, o) {
			outputs = append(outputs, o)
		}
	}
	return outputs
}

// Params returns the parameters that a text reads, as far as the text names them. A text with mistakes has none.
func Params(s string) []string {
	t, err := parseText("text", s)
	if err != nil || t.template == nil {
		return nil
	}
	return paramsOf(t.template)
}

// outputsOf returns the parents and the names in the calls of output whose arguments are constants.
func outputsOf(t *template.Template) (calls []Output) {
	walk(t, func(n parse.Node) {
		c, ok := n.(*parse.CommandNode)
		if !ok {
			return
		}
		if f, ok := c.Args[0].(*parse.IdentifierNode); ok && f.Ident == outputFunc && len(c.Args) == 3 {
			parent, ok1 := c.Args[1].(*parse.StringNode)
			name, ok2 := c.Args[2].(*parse.StringNode)
			if ok1 && ok2 {
				calls = append(calls, Output{parent.Text, name.Text})
			}
		}
	})
	return calls
}

// paramsOf returns the names in .Params.name and index .Params "name".
func paramsOf(t *template.Template) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	walk(t, func(n parse.Node) {
		if path := fieldPath(n); len(path) > 1 && path[0] == paramsField {
			add(path[1])
		}
		c, ok := n.(*parse.CommandNode)
		if !ok || len(c.Args) != 3 {
			return
		}
		f, ok := c.Args[0].(*parse.IdentifierNode)
		name, constant := c.Args[2].(*parse.StringNode)
		if path := fieldPath(c.Args[1]); ok && f.Ident == "index" && len(path) == 1 && path[0] == paramsField && constant {
			add(name.Text)
		}
	})
	return names
}

// paramsField is the field of Fields with the parameters.
const paramsField = "Params"

// fieldPath returns the names in a field such as .Params.env or $.Params.env; nil for another node.
func fieldPath(n parse.Node) []string {
	switch n := n.(type) {
	case *parse.FieldNode:
		return n.Ident
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			return n.Ident[1:]
		}
	}
	return nil
}

// walk calls do for each node of a template.
func walk(t *template.Template, do func(n parse.Node)) {
	var visit func(n parse.Node)
	branch := func(b *parse.BranchNode) {
		visit(b.Pipe)
		visit(b.List)
		visit(b.ElseList)
	}
	visit = func(n parse.Node) {
		do(n)
		switch n := n.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, c := range n.Nodes {
					visit(c)
				}
			}
		case *parse.ActionNode:
			visit(n.Pipe)
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.PipeNode:
			for _, c := range n.Cmds {
				visit(c)
			}
		case *parse.CommandNode:
			for _, a := range n.Args {
				visit(a)
			}
		}
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			visit(one.Root)
		}
	}
}
