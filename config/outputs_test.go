package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestTemplatesReadOutputsThatExist reads steps whose templates read outputs of a job with http, and of a program.
func TestTemplatesReadOutputsThatExist(t *testing.T) {
	for output, want := range map[string]string{
		`output "load" "total"`:    "",
		`output "dump" "anything"`: "",
		`output "load" "totl"`:     `the template reads the output "totl", which job "load" does not have (did you mean total?)`,
		`output "load" "x"`:        `the template reads the output "x", which job "load" does not have (add it to output of job load)`,
		`output "dump" "bad name"`: `http.url has a template that fails in every run: no output can have the name "bad name"`,
		`output "lad" "total"`:     `the template reads an output of "lad", which is no parent of the job`,
	} {
		t.Run(output, func(t *testing.T) {
			_, err := ParseJobs("jobs.yaml", []byte(`version: 1
jobs:
  step:
    after: [load, dump]
    http: {url: 'http://a/{{ `+output+` }}'}
  load: {every: 1h, http: {url: http://a}, output: {total: /data/total}}
  dump: {every: 1h, shell: x}
`))
			var list Errors
			if want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &list) || len(list) != 1 {
				t.Fatalf("got %v, want one mistake", err)
			}
			got := fmt.Sprintf("%d:%d: %s (%s)", list[0].Line, list[0].Col, list[0].Msg, list[0].Hint)
			if !strings.HasPrefix(got, "5:17: "+want) {
				t.Errorf("got %s, want %s at 5:17", got, want)
			}
		})
	}
}
