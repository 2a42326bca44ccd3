package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/spf13/cobra"
)

// submitFlags are the flags of commands that submit a run.
type submitFlags struct {
	key, payload string
	params       []string // name=value
}

func (f *submitFlags) add(c *cli, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&givenFlag{&f.key, "a key"}, "key", "idempotency key: a second request with the same key returns the first run")
	flags.Var(&givenFlag{&f.payload, "JSON"}, "payload", "JSON for the run, @FILE to read it from a file, @- from stdin")
	flags.StringArrayVar(&f.params, "param", nil, "NAME=VALUE of a parameter that the job declares; may be repeated")
	if err := cmd.RegisterFlagCompletionFunc("param", c.completeParams); err != nil {
		panic(err) // the flag exists: it was just added
	}
}

// requestOf returns the request that the flags describe.
func (c *cli) requestOf(f *submitFlags) (r api.RunRequest, err error) {
	if r.Key = f.key; !utf8.ValidString(r.Key) {
		return r, usagef("--key %q is not UTF-8 text", r.Key)
	}
	for _, param := range f.params {
		name, value, ok := strings.Cut(param, "=")
		switch _, twice := r.Params[name]; {
		case !ok || !job.IsParamName(name):
			return r, usageError{fmt.Sprintf("--param %s is not NAME=VALUE", param), "write it like --param month=2026-01"}
		case twice:
			return r, usageError{fmt.Sprintf("--param gives %s twice", name), "remove one of the two"}
		case !utf8.ValidString(value): // JSON cannot hold it, and the job would get another value
			return r, usagef("--param %s: %q is not UTF-8 text", name, value)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return r, usagef("--param %s: %v", name, err)
		}
		if r.Params == nil {
			r.Params = map[string]json.RawMessage{}
		}
		r.Params[name] = text
	}
	r.Payload, err = c.payload(f.payload)
	return r, err
}

// completeParams returns the names of the job's parameters as completions, and behind a name the values that it may have.
func (c *cli) completeParams(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, directive := c.complete(cmd, nil, func(ctx context.Context, cl *client.Client) []cobra.Completion {
		v, err := cl.Job(ctx, args[0])
		if err != nil {
			return nil
		}
		return paramCompletions(v.Spec.Params, prefix)
	})
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

func paramCompletions(params map[string]job.Param, prefix string) (list []cobra.Completion) {
	name, start, typed := strings.Cut(prefix, "=")
	if !typed {
		for _, other := range slices.Sorted(maps.Keys(params)) {
			if strings.HasPrefix(other, name) {
				list = append(list, cobra.CompletionWithDesc(other+"=", params[other].Description))
			}
		}
		return list
	}
	p := params[name]
	values := p.Enum
	if p.Type == job.ParamBool {
		values = []string{"true", "false"}
	}
	for _, value := range values {
		if strings.HasPrefix(value, start) {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// givenFlag is a flag that refuses an empty value, which usually comes from an unset variable in a script. With an empty key,
// each submission would create another run. With an empty time, the run would start at once. With an empty payload, it would have
// that of its job.
type givenFlag struct {
	text *string
	want string // the kind of value that is expected
}

// Set implements pflag.Value.
func (f *givenFlag) Set(s string) error {
	if s == "" {
		return emptyFlag(f.want)
	}
	*f.text = s
	return nil
}

// emptyFlag returns the error for a flag with an empty value. want is the kind of value that is expected.
func emptyFlag(want string) error {
	return fmt.Errorf("it is empty: give %s, or leave the flag out", want)
}

// String implements pflag.Value. pflag also calls it on the zero value.
func (f *givenFlag) String() string {
	if f.text == nil {
		return ""
	}
	return *f.text
}

// Type implements pflag.Value.
func (f *givenFlag) Type() string { return "string" }

// readUpTo returns the first bytes of a file, at most so many: a pipe or device may have no end. The name - stands for stdin.
func (c *cli) readUpTo(name string, most int64) ([]byte, error) {
	in := c.stdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, most))
}

// payload returns the JSON in the value of a flag, or in the file that the value names. It returns nil if the flag is empty.
func (c *cli) payload(flag string) (json.RawMessage, error) {
	text := []byte(flag)
	if name, ok := strings.CutPrefix(flag, "@"); ok {
		var err error
		if text, err = c.readUpTo(name, api.MaxPayload+1); err != nil {
			return nil, usageError{fmt.Sprintf("--payload %s: %v", flag, err), "name a readable file"}
		}
	}
	switch {
	case flag == "":
		return nil, nil
	case len(bytes.TrimSpace(text)) == 0:
		return nil, usageError{fmt.Sprintf("--payload %s is empty", flag), "leave the flag out to use the payload of the job"}
	case len(text) > api.MaxPayload:
		return nil, usagef("--payload has more than %d bytes", api.MaxPayload)
	case !utf8.Valid(text): // json.Valid accepts such bytes
		return nil, usagef("--payload %q is not UTF-8 text", flag)
	case !json.Valid(text):
		hint := `write it like --payload '{"month":"2026-01"}'; a text needs its own quotes`
		return nil, usageError{"--payload is not valid JSON", hint}
	}
	return text, nil
}
