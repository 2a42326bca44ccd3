package extract

import (
	"bytes"
	"strings"
	"testing"
)

const jobs = `{"jobs": [
  {"name": "a", "spec": {"every": "1m"}, "revision": 12345678901, "labels": {"x.y/z": "1"}, "last": {"state": "failed"}},
  {"name": "日本", "spec": {"schedule": ["0 1 * * *", "0 2 * * *"]}, "revision": 7, "last": null}
]}`

const runs = `{"runs": [{"job": "a", "id": "1", "run": "a/1", "state": "failed"}, {"job": "a", "id": "2", "run": "a/2", "state": "succeeded"}], "continue": "x"}`

func TestFormats(t *testing.T) {
	for name, row := range map[string]struct{ format, doc, want string }{
		"names of a list":         {"name", jobs, "a\n日本\n"},
		"names of runs":           {"name", runs, "a/1\na/2\n"},
		"name of one object":      {"name", `{"run": "a/1", "attempts": [1]}`, "a/1\n"},
		"no names in an empty":    {"name", `{"jobs": []}`, ""},
		"kubectl's spelling":      {"jsonpath={.items[*].name}", jobs, "a 日本"},
		"the API's spelling":      {"jsonpath={.jobs[*].name}", jobs, "a 日本"},
		"a run has a name":        {"jsonpath={.items[*].name}", runs, "a/1 a/2"},
		"without braces":          {"jsonpath=.items[0].name", jobs, "a"},
		"without a dot":           {"jsonpath=items[0].name", jobs, "a"},
		"a number in full":        {"jsonpath={.items[0].revision}", jobs, "12345678901"},
		"a filter":                {`jsonpath={.items[?(@.state=="failed")].run}`, runs, "a/1"},
		"a filter of numbers":     {`jsonpath={.items[?(@.revision>10)].name}`, jobs, "a"},
		"a range":                 {`jsonpath={range .items[*]}{.name}{"\t"}{.state}{"\n"}{end}`, runs, "a/1\tfailed\na/2\tsucceeded\n"},
		"an escaped dot":          {`jsonpath={.items[0].labels.x\.y/z}`, jobs, "1"},
		"a missing key":           {"jsonpath={.items[*].nothing}", jobs, ""},
		"a template":              {`go-template={{range .items}}{{.name}} {{.revision}};{{end}}`, jobs, "a 12345678901;日本 7;"},
		"a template with json":    {`go-template={{json .items}}`, `{"a": [1]}`, "[1]"},
		"columns":                 {"custom-columns=NAME:.name,EVERY:.spec.every,LAST:.last.state", jobs, "NAME   EVERY    LAST\na      1m       failed\n日本   <none>   <none>\n"},
		"columns without dots":    {"custom-columns=N:name,S:{.spec.schedule[*]}", jobs, "N      S\na      <none>\n日本   0 1 * * *,0 2 * * *\n"},
		"columns of one object":   {"custom-columns=RUN:.run", `{"run": "a/1"}`, "RUN\na/1\n"},
		"columns of plain values": {"custom-columns=ALL:.name", `["x"]`, "ALL\n<none>\n"},
		"a document of a list":    {"jsonpath={.items[1].name}", `[{"name": "a"}, {"name": "b"}]`, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(row.format)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := p.Print(&out, []byte(row.doc)); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestWrongExpressionIsAnError(t *testing.T) {
	for format, want := range map[string]string{
		"jsonpath":                 "needs an expression",
		"jsonpath=":                "needs an expression",
		"jsonpath={.items[}":       "for example",
		"go-template={{range}}":    "for example",
		"custom-columns=NAME":      "not HEADER:EXPRESSION",
		"custom-columns=NAME:,":    "not HEADER:EXPRESSION",
		"custom-columns=NAME:.a[{": "column NAME",
	} {
		if _, err := Parse(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", format, err, want)
		}
	}
	for _, format := range []string{"json", "table", "", "names", "jsonpaths=x"} {
		if p, err := Parse(format); p != nil || err != nil {
			t.Errorf("%s: got %v and %v, want nothing", format, p, err)
		}
	}
}

func TestFailedExpressionPrintsNothing(t *testing.T) {
	for format, doc := range map[string]string{
		"name": `{"slots": [], "notes": []}`,
		"go-template={{range .x}}a{{end}}{{index .x 5}}": `{"x": [1]}`,
	} {
		p, err := Parse(format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := p.Print(&out, []byte(doc)); err == nil || out.Len() > 0 {
			t.Errorf("%s: got %v and the output %q, want an error and no output", format, err, out.String())
		}
	}
}

func TestRowsThatFollowOthers(t *testing.T) {
	for format, want := range map[string]string{
		"custom-columns=STATE:.state,N:.name": "failed   a\n", "custom-columns=A_LONG_HEADER:.state,N:.name": "failed          a\n", "name": "a\n",
	} {
		p, err := Parse(format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := WithoutHeader(p).Print(&out, []byte(`{"name": "a", "state": "failed"}`)); err != nil || out.String() != want {
			t.Errorf("%s: got %q, %v, want %q", format, out.String(), err, want)
		}
	}
}
