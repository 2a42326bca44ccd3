package main

import (
	"bytes"
	"strings"
	"testing"
)

// Package json replaces bytes that are not UTF-8. The command that runs would not be the one that was typed.
func TestACommandMustBeText(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"submit", "--server", "http://127.0.0.1:1", "--", "rm", "caf\xe9"}
	code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	if code != exitUsage || !strings.Contains(errs.String(), `"caf\xe9" is not UTF-8 text`) {
		t.Errorf("got exit code %d and %s", code, &errs)
	}
}

func TestAParameterAndAKeyMustBeText(t *testing.T) {
	for _, args := range [][]string{{"--param", "name=caf\xe9"}, {"--key", "caf\xe9"}, {"--payload", "\"caf\xe9\""}} {
		var out, errs bytes.Buffer
		args = append([]string{"run", "ok", "--server", "http://127.0.0.1:1"}, args...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), `is not UTF-8 text`) {
			t.Errorf("%q: got exit code %d and %s", args, code, &errs)
		}
	}
}
