package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestParamRules(t *testing.T) {
	one, five := 1.0, 5.0
	for _, tt := range []struct {
		name, value, want string
		param             job.Param
	}{
		{"any text", "a=b, \n ü", "", job.Param{}},
		{"an empty text", "", "", job.Param{}},
		{"a zero byte", "a\x00b", "must be a text in UTF-8 without zero bytes", job.Param{}},
		{"no UTF-8", "\xff", "must be a text in UTF-8 without zero bytes", job.Param{}},
		{"a long text", strings.Repeat("x", job.MaxParamValue+1), "has 4097 bytes, at most 4096 are allowed", job.Param{}},
		{"a pattern", "2026-01", "", job.Param{Pattern: "^[0-9]{4}-[0-9]{2}$"}},
		{"another text", "2026-1\n", "must match the pattern ^[0-9]{4}-[0-9]{2}$", job.Param{Pattern: "^[0-9]{4}-[0-9]{2}$"}},
		{"a bad pattern in the store", "x", "has a pattern that cannot be used: error parsing regexp: missing closing ): `(`", job.Param{Pattern: "("}},
		{"a value of the enum", "prod", "", job.Param{Enum: []string{"stage", "prod"}}},
		{"another value", "test", "must be one of stage, prod", job.Param{Enum: []string{"stage", "prod"}}},
		{"a whole number", "-3", "", job.Param{Type: job.ParamInt}},
		{"a fraction", "3.0", "must be a whole number such as 42", job.Param{Type: job.ParamInt}},
		{"leading zeros", "007", "must be a whole number such as 42", job.Param{Type: job.ParamInt}},
		{"a sign", "+3", "must be a whole number such as 42", job.Param{Type: job.ParamInt}},
		{"too many digits", "9223372036854775808", "must be a whole number such as 42", job.Param{Type: job.ParamInt}},
		{"below", "0", "must be at least 1", job.Param{Type: job.ParamInt, Min: &one, Max: &five}},
		{"above", "5.5", "must be at most 5", job.Param{Type: job.ParamNumber, Min: &one, Max: &five}},
		{"an exponent", "1e3", "", job.Param{Type: job.ParamNumber}},
		{"not a number", "NaN", "must be a number such as 42 or 0.5", job.Param{Type: job.ParamNumber}},
		{"infinity", "1e999", "must be a number such as 42 or 0.5", job.Param{Type: job.ParamNumber}},
		{"a boolean", "false", "", job.Param{Type: job.ParamBool}},
		{"a word", "yes", "must be true or false", job.Param{Type: job.ParamBool}},
	} {
		got := ""
		if err := tt.param.Accept(tt.value); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFillParams(t *testing.T) {
	stage := "stage"
	spec := job.Spec{Params: map[string]job.Param{
		"env": {Enum: []string{"stage", "prod"}, Default: &stage}, "month": {Required: true}, "note": {},
	}}
	for _, tt := range []struct {
		name      string
		given     map[string]string
		want      map[string]string
		defaulted []string
		wrong     []job.ParamError
	}{
		{"defaults are filled in", map[string]string{"month": "1"}, map[string]string{"env": "stage", "month": "1"}, []string{"env"}, nil},
		{"a given default is given", map[string]string{"month": "1", "env": "stage"}, map[string]string{"env": "stage", "month": "1"}, nil, nil},
		{"every mistake is named", map[string]string{"env": "x", "mnoth": "1"}, map[string]string{"env": "stage"}, []string{"env"}, []job.ParamError{
			{"env", "must be one of stage, prod"}, {"mnoth", "is not declared by the job"}, {"month", "is required, and is missing"},
		}},
	} {
		got, defaulted, wrong := spec.FillParams(tt.given)
		if diff := cmp.Diff(tt.wrong, wrong); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.defaulted, defaulted); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
	}
	if all, names, wrong := (&job.Spec{}).FillParams(nil); all != nil || names != nil || wrong != nil {
		t.Errorf("a job without parameters: got %v %v %v, want nothing", all, names, wrong)
	}
	large := map[string]string{}
	many := job.Spec{Params: map[string]job.Param{}}
	for i := range 9 {
		name := "p" + string(rune('a'+i))
		many.Params[name], large[name] = job.Param{}, strings.Repeat("x", job.MaxParamValue)
	}
	if _, _, wrong := many.FillParams(large); len(wrong) != 1 || !strings.Contains(wrong[0].Text, "at most 32768 bytes") {
		t.Errorf("too much for a record: got %v", wrong)
	}
}

// TestTheSlowestPatternIsFast matches the costliest pattern that Compile accepts with the longest value.
func TestTheSlowestPatternIsFast(t *testing.T) {
	p := job.Param{Pattern: strings.Repeat("(a?){90}", 5) + "$"}
	if _, err := p.Compile(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = p.Accept(strings.Repeat("a", job.MaxParamValue-1) + "b")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a match took %s", took)
	}
	p.Pattern += strings.Repeat("(a?){90}", 10)
	if _, err := p.Compile(); err == nil || !strings.Contains(err.Error(), "at most 2000") {
		t.Errorf("got %v, want a refusal of its size", err)
	}
}
