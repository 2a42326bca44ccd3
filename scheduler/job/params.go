package job

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Param declares one parameter of a job: which values a run may have for it.
type Param struct {
	Description string    `json:"description,omitempty"`
	Type        ParamType `json:"type,omitempty"`     // empty: ParamString
	Pattern     string    `json:"pattern,omitempty"`  // RE2, for strings; it may match anywhere in the value
	Enum        []string  `json:"enum,omitempty"`     // nil: any value of the type
	Min         *float64  `json:"min,omitempty"`      // of numbers; nil: no bound
	Max         *float64  `json:"max,omitempty"`      // of numbers; nil: no bound
	Default     *string   `json:"default,omitempty"`  // nil: none
	Required    bool      `json:"required,omitempty"` // a run must have a value, given or by default
}

// ParamType is the type of a parameter. Values are texts: the type says which texts are accepted.
type ParamType string

// The types of parameters.
const (
	ParamString ParamType = "string"
	ParamInt    ParamType = "int"
	ParamNumber ParamType = "number"
	ParamBool   ParamType = "bool"
)

// ParamTypes lists the types of parameters.
func ParamTypes() []ParamType { return []ParamType{ParamString, ParamInt, ParamNumber, ParamBool} }

// The bounds of parameters. A pattern within them takes milliseconds for the longest value.
const (
	MaxParams     = 64
	MaxParamValue = 4 << 10  // bytes of one value
	MaxParamsSize = 32 << 10 // bytes of all names and values of a run
	MaxPattern    = 1 << 10  // bytes
	MaxEnum       = 100      // values
	maxProgram    = 2000     // instructions of a compiled pattern
)

// ParamVariablePrefix begins the names of the environment variables with the parameters of a run.
const ParamVariablePrefix = "ROTA_PARAM_"

var (
	paramName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	intText    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	numberText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// IsParamName reports whether name may be the name of a parameter.
func IsParamName(name string) bool { return paramName.MatchString(name) }

// ParamVariable returns the name of the environment variable with the value of a parameter.
func ParamVariable(name string) string {
	return ParamVariablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// ParamError says why a run cannot have a value for a parameter.
type ParamError struct {
	Name string
	Text string // what is wrong, without the value
}

// Compile returns the pattern of p. It refuses a pattern that would take long to match.
func (p *Param) Compile() (*regexp.Regexp, error) {
	if len(p.Pattern) > MaxPattern {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(p.Pattern), MaxPattern)
	}
	tree, err := syntax.Parse(p.Pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if n := len(program.Inst); n > maxProgram {
		return nil, fmt.Errorf("it compiles to %d instructions, at most %d are allowed: write smaller repetitions", n, maxProgram)
	}
	return regexp.Compile(p.Pattern)
}

// Accept returns which rule of p a value breaks; nil if it breaks none. The error does not contain the value.
func (p *Param) Accept(value string) error {
	switch {
	case len(value) > MaxParamValue:
		return fmt.Errorf("has %d bytes, at most %d are allowed", len(value), MaxParamValue)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return errors.New("must be a text in UTF-8 without zero bytes")
	}
	if err := p.acceptType(value); err != nil {
		return err
	}
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, value) {
		return fmt.Errorf("must be one of %s", strings.Join(p.Enum, ", "))
	}
	if p.Pattern == "" {
		return nil
	}
	pattern, err := p.Compile()
	if err != nil {
		return fmt.Errorf("has a pattern that cannot be used: %w", err)
	}
	if !pattern.MatchString(value) {
		return fmt.Errorf("must match the pattern %s", p.Pattern)
	}
	return nil
}

func (p *Param) acceptType(value string) error {
	switch p.Type {
	case ParamInt:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || !intText.MatchString(value) {
			return errors.New("must be a whole number such as 42")
		}
		return p.within(float64(n))
	case ParamNumber:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !numberText.MatchString(value) {
			return errors.New("must be a number such as 42 or 0.5")
		}
		return p.within(n)
	case ParamBool:
		if value != "true" && value != "false" {
			return errors.New("must be true or false")
		}
	case ParamString, "":
	}
	return nil
}

func (p *Param) within(n float64) error {
	switch {
	case p.Min != nil && n < *p.Min:
		return fmt.Errorf("must be at least %v", *p.Min)
	case p.Max != nil && n > *p.Max:
		return fmt.Errorf("must be at most %v", *p.Max)
	}
	return nil
}

// FillParams returns the parameters of a run to which a client gave some values: these, and the defaults of all others.
// defaulted has the names of those with a default, sorted. wrong says which values are undeclared, missing or refused.
func (s *Spec) FillParams(given map[string]string) (all map[string]string, defaulted []string, wrong []ParamError) {
	all, defaulted = s.DefaultParams()
	size := 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, declared := s.Params[name]
		if !declared {
			wrong = append(wrong, ParamError{name, "is not declared by the job"})
			continue
		}
		if err := p.Accept(given[name]); err != nil {
			wrong = append(wrong, ParamError{name, err.Error()})
			continue
		}
		if all == nil {
			all = make(map[string]string, len(given))
		}
		all[name] = given[name]
		defaulted = slices.DeleteFunc(defaulted, func(other string) bool { return other == name })
	}
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		value, has := all[name]
		if _, tried := given[name]; s.Params[name].Required && !has && !tried {
			wrong = append(wrong, ParamError{name, "is required, and is missing"})
		}
		if size += len(name) + len(value); size > MaxParamsSize {
			return nil, nil, append(wrong, ParamError{name, fmt.Sprintf("has no room: all parameters have at most %d bytes", MaxParamsSize)})
		}
	}
	if len(defaulted) == 0 {
		defaulted = nil
	}
	return all, defaulted, wrong
}

// DefaultParams returns the defaults of the job's parameters, and the names of these parameters, sorted. nil: there are none.
func (s *Spec) DefaultParams() (all map[string]string, names []string) {
	for name, p := range s.Params {
		if p.Default == nil {
			continue
		}
		if all == nil {
			all = make(map[string]string, len(s.Params))
		}
		all[name] = *p.Default
		names = append(names, name)
	}
	slices.Sort(names)
	return all, names
}

// MissingParam returns the first required parameter for which a run with these parameters has no value; "" if it has all.
func (s *Spec) MissingParam(params map[string]string) string {
	missing := ""
	for name, p := range s.Params {
		if _, has := params[name]; p.Required && !has && (missing == "" || name < missing) {
			missing = name
		}
	}
	return missing
}

// GivenParams returns the parameters of r that the client gave: those that are not defaults.
func (r *Run) GivenParams() map[string]string {
	given := make(map[string]string, len(r.Params))
	for name, value := range r.Params {
		if !slices.Contains(r.Defaulted, name) {
			given[name] = value
		}
	}
	return given
}

// ParamsText lists the parameters of r for people, sorted by name.
func (r *Run) ParamsText() string {
	list := make([]string, 0, len(r.Params))
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		text := name + "=" + r.Params[name]
		if slices.Contains(r.Defaulted, name) {
			text += " (default)"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// checkParams returns an error if the declarations are too large, or of an unknown type. It compiles no pattern: a leader
// checks all definitions.
func (s *Spec) checkParams() error {
	if len(s.Params) > MaxParams {
		return fmt.Errorf("params has %d entries, at most %d are allowed", len(s.Params), MaxParams)
	}
	for name, p := range s.Params {
		if !IsParamName(name) {
			return fmt.Errorf("params has the bad name %.40q", name)
		}
		if err := known("params."+name+".type", p.Type, ParamTypes()); err != nil {
			return err
		}
	}
	return nil
}
