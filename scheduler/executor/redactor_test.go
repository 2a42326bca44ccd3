package executor_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestRedactorHidesSecrets(t *testing.T) {
	for name, tt := range map[string]struct {
		secrets []string
		writes  []string
		want    string
	}{
		"nothing to hide":            {nil, []string{"plain ", "text"}, "plain text"},
		"in one write":               {[]string{"s3cret"}, []string{"pass s3cret!"}, "pass ***!"},
		"split across writes":        {[]string{"s3cret"}, []string{"pass s3", "c", "ret!"}, "pass ***!"},
		"several in a row":           {[]string{"s3cret"}, []string{"s3crets3cret s3cret"}, "****** ***"},
		"a beginning that goes on":   {[]string{"s3cret"}, []string{"s3c", "tional"}, "s3ctional"},
		"a beginning at the end":     {[]string{"s3cret"}, []string{"ends in s3cr"}, "ends in s3cr"},
		"the longer of two":          {[]string{"abcd", "abcdef"}, []string{"abcd", "ef abcd", "x"}, "*** ***x"},
		"overlapping beginning":      {[]string{"aaab"}, []string{"aa", "aa", "b"}, "a***"},
		"a short one is a word":      {[]string{"7", "abc"}, []string{"abc 7, PIN=7\n77 7th abcd xabc ab"}, "*** ***, PIN=***\n77 7th abcd xabc ab"},
		"a word in pieces":           {[]string{"abc"}, []string{"x", "abc abc", "d ab", "c"}, "xabc abcd ***"},
		"a word beside a secret":     {[]string{"abc", "s3cret"}, []string{"s3cret", "abc"}, "******"},
		"every line of a key file":   {[]string{"-----BEGIN\nMIIabcdefg\n"}, []string{"key: MIIabcdefg\n"}, "key: ***\n"},
		"as it stands in JSON":       {[]string{`a"b<c`}, []string{`{"p":"a\"b<c","q":"a\"b\u003cc"} a"b<c`}, `{"p":"***","q":"***"} ***`},
		"a shorter one at the end":   {[]string{"abcd", "abcdef"}, []string{"x abcd"}, "x ***"},
		"a shorter one inside a try": {[]string{"bcde", "abcdef"}, []string{"abcde", "X"}, "a***X"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			r := executor.NewRedactor(&b, tt.secrets)
			for _, w := range tt.writes {
				if n, err := r.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("Write(%q) = %d, %v", w, n, err)
				}
			}
			r.Flush()
			if got := b.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRedactorDoesNotDependOnTheSizesOfWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab ]{0,60}`).Draw(t, "text")
		secrets := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,7}`), 1, 3).Draw(t, "secrets")
		var b bytes.Buffer
		r := executor.NewRedactor(&b, secrets)
		want := r.String(text)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			r.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		r.Flush()
		if got := b.String(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		for _, s := range secrets {
			if len(s) >= 4 && strings.Contains(b.String(), s) || slices.Contains(strings.Fields(b.String()), s) {
				t.Fatalf("%q holds the secret %q", b.String(), s)
			}
		}
	})
}

// TestRedactorKeepsSecretsOutOfOutputs checks that no output with a secret leaves the worker, and that the work counts as done.
func TestRedactorKeepsSecretsOutOfOutputs(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o, want    job.Outcome
		wantText   string
	}{
		{
			"a short secret", "done",
			job.Outcome{State: job.Succeeded, Outputs: map[string]string{"rows": "7"}},
			job.Outcome{State: job.Succeeded, Outputs: map[string]string{"rows": "7"}},
			"done",
		},
		{
			"a value", "done",
			job.Outcome{State: job.Succeeded, Outputs: map[string]string{"rows": "7", "url": "https://s3cret@db"}},
			job.Outcome{State: job.Succeeded, Outputs: map[string]string{"rows": "7"}},
			"done\nrota: output url is left out, because it contains the value of a reference\n",
		},
		{
			"a name", "",
			job.Outcome{State: job.Failed, Reason: "bad s3cret", Retry: true, Outputs: map[string]string{"s3cret": "1"}},
			job.Outcome{State: job.Failed, Reason: "bad ***", Retry: true, Outputs: map[string]string{}},
			"rota: output *** is left out, because it contains the value of a reference\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text bytes.Buffer
			r := executor.NewRedactor(&text, []string{"s3cret", "7"})
			_, _ = r.Write([]byte(c.text))
			if got := r.Outcome(c.o); !cmp.Equal(got, c.want) || text.String() != c.wantText {
				t.Errorf("got %+v with the text %q, want %+v with %q", got, text.String(), c.want, c.wantText)
			}
		})
	}
}
