package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A description or a reason is written by other people. It must not give commands to the terminal of its reader.
func TestDataDoesNotDisturbATerminal(t *testing.T) {
	const hostile = "\x1b]52;c;ZXZpbA==\x07\u009b2J\u202ed\x7f"
	value := map[string]string{"text": hostile}
	for format, want := range map[format]string{
		formatJSON:                  "{\n  \"text\": \"\\u001b]52;c;ZXZpbA==\\u0007\\u009b2J\\u202ed\\u007f\"\n}\n",
		"jsonpath={.text}":          " ]52;c;ZXZpbA==  2J d ",
		"custom-columns=TEXT:.text": "TEXT\n ]52;c;ZXZpbA==  2J d \n",
	} {
		var out bytes.Buffer
		c := &cli{out: terminal(t), now: time.Now, format: format}
		if err := c.writeData(&out, value); err != nil || out.String() != want {
			t.Errorf("-o %s: got %q, %v, want %q", format, out.String(), err, want)
		}
	}
	var out bytes.Buffer
	c := &cli{out: &out, now: time.Now, format: "jsonpath={.text}"}
	if err := c.writeData(&out, value); err != nil || strings.TrimSuffix(out.String(), "\n") != hostile {
		t.Errorf("a program gets %q, %v, want the text itself", out.String(), err)
	}
}
