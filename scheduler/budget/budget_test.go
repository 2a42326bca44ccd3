package budget_test

import (
	"strings"
	"testing"
	"text/template"

	"github.com/rota-scheduler/rota/scheduler/budget"
)

// fill executes a template with a budget of 1 MiB and 1,000 repetitions.
func fill(t *testing.T, text string, data any) (string, error) {
	t.Helper()
	b := budget.New(1<<20, 1000)
	one, err := template.New("text").Funcs(b.Functions()).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	budget.Count(one)
	var out strings.Builder
	err = one.Execute(b.Writer(&out), data)
	return out.String(), err
}

// Each of these texts would take terabytes or centuries.
func TestHostileTemplatesEnd(t *testing.T) {
	double := strings.Repeat(`{{ $x = print $x $x }}`, 60)
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"a doubled variable":    {`{{ $x := "a" }}` + double, budget.ErrBytes.Error()},
		"a doubled pipeline":    {`{{ "a" ` + strings.Repeat(`| printf "%[1]s%[1]s" `, 60) + `}}`, budget.ErrBytes.Error()},
		"escapes of escapes":    {`{{ "<" ` + strings.Repeat("| js ", 60) + `}}`, budget.ErrBytes.Error()},
		"escapes for URLs":      {`{{ "%%%%%%%%" ` + strings.Repeat(`| printf "%[1]s%[1]s" | urlquery | html `, 30) + `}}`, budget.ErrBytes.Error()},
		"a wide value":          {`{{ printf "%1000000s" "" }}`, "at most 999 characters"},
		"a width from a value":  {`{{ printf "%*s" 1000000 "" }}`, "at most 999 characters"},
		"a width behind others": {`{{ printf "%+-[1]*d" 1000000 }}`, "at most 999 characters"},
		"a precise value":       {`{{ printf "%.99999f" 1.0 }}`, "at most 999 characters"},
		"many values":           {`{{ printf "` + strings.Repeat("%999d", 2000) + `" 1 }}`, budget.ErrBytes.Error()},
		"an empty loop":         {`{{ range 1000000000000 }}{{ end }}`, budget.ErrSteps.Error()},
		"loops in loops":        {`{{ range 999 }}{{ if true }}{{ range 999 }}{{ end }}{{ end }}{{ end }}`, budget.ErrSteps.Error()},
		"a long text":           {`{{ range 999 }}` + strings.Repeat("x", 2000) + `{{ end }}`, budget.ErrBytes.Error()},
		"calls of templates": {
			`{{ define "a" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`, budget.ErrSteps.Error(),
		},
	} {
		if out, err := fill(t, c.text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %.50q, %v, want %q", name, out, err, c.want)
		}
	}
}

func TestOrdinaryTemplatesAreUnchanged(t *testing.T) {
	data := map[string]any{"N": 3, "Name": `a "b" <c>`, "List": []int{1, 2}}
	for _, text := range []string{
		`{{ print 1 2 "a" "b" .N }}{{ println .List }}`, `{{ printf "%5d|%-8s|%q|%x|%.2f%%" .N .Name .Name .Name 1.5 }}`,
		`{{ .Name | html }} {{ .Name | js }} {{ urlquery .Name .N }}`, `{{ range $i, $v := .List }}{{ $i }}={{ $v }};{{ else }}-{{ end }}`,
		`{{ with .Name }}{{ . }}{{ end }}{{ define "x" }}[{{ . }}]{{ end }}{{ template "x" .N }}`,
		`{{ range .List }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ break }}{{ end }}`,
	} {
		var want strings.Builder
		if err := template.Must(template.New("text").Parse(text)).Execute(&want, data); err != nil {
			t.Fatal(err)
		}
		if got, err := fill(t, text, data); err != nil || got != want.String() {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want.String())
		}
	}
}

// FuzzTemplate executes any template. It ends, and its text is never longer than its budget.
func FuzzTemplate(f *testing.F) {
	f.Add(`{{ $x := "a" }}{{ $x = print $x $x }}{{ printf "%999s" $x | js }}`)
	f.Add(`{{ range 9 }}{{ range $ }}{{ html . }}{{ end }}{{ end }}`)
	f.Add(`{{ define "a" }}{{ with . }}{{ template "a" . }}{{ end }}{{ end }}{{ template "a" . }}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := budget.New(64<<10, 1000)
		one, err := template.New("text").Funcs(b.Functions()).Parse(text)
		if err != nil {
			return
		}
		budget.Count(one)
		var out strings.Builder
		_ = one.Execute(b.Writer(&out), map[string]string{"A": "b", "C": "<d>"}) // most texts have mistakes
		if out.Len() > 64<<10 {
			t.Errorf("%d bytes", out.Len())
		}
	})
}
