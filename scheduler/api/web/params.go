package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// paramField begins the names of the fields with parameters. The API uses the same names for mistakes in them.
const paramField = "params."

// paramFields returns a field for each parameter that a job declares.
func paramFields(params map[string]job.Param) (fields []field) {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		p := params[name]
		f := field{Name: paramField + name, Label: name, Kind: "text", Help: strings.TrimSpace(p.Description + " " + ruleOf(&p))}
		if p.Default != nil {
			f.Value = *p.Default
		}
		f.Options = p.Enum
		if p.Type == job.ParamBool {
			f.Options = []string{"true", "false"}
		}
		if f.Options != nil {
			f.Kind = "choice"
			if p.Default == nil {
				f.Options = append([]string{""}, f.Options...)
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// ruleOf says which values a parameter may have.
func ruleOf(p *job.Param) string {
	var rules []string
	switch p.Type {
	case job.ParamInt:
		rules = append(rules, "A whole number.")
	case job.ParamNumber:
		rules = append(rules, "A number.")
	case job.ParamString, job.ParamBool, "":
	}
	if p.Min != nil {
		rules = append(rules, fmt.Sprintf("At least %v.", *p.Min))
	}
	if p.Max != nil {
		rules = append(rules, fmt.Sprintf("At most %v.", *p.Max))
	}
	if p.Pattern != "" {
		rules = append(rules, "It matches "+p.Pattern)
	}
	if p.Required && p.Default == nil {
		return strings.Join(append([]string{"Required."}, rules...), " ")
	}
	return strings.Join(append(rules, "Empty: "+emptyParam(p)+"."), " ")
}

func emptyParam(p *job.Param) string {
	if p.Default != nil {
		return "the default"
	}
	return "no value"
}

// params returns the parameters that the client gave. An empty field gives none.
func (f *form) params() map[string]json.RawMessage {
	given := map[string]json.RawMessage{}
	for i := range f.Fields {
		name, ok := strings.CutPrefix(f.Fields[i].Name, paramField)
		if !ok || f.Fields[i].Value == "" {
			continue
		}
		if text, err := json.Marshal(f.Fields[i].Value); err == nil {
			given[name] = text
		}
	}
	return given
}
