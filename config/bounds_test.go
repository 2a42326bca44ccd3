package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestLargeInputHasShortErrors(t *testing.T) {
	name := strings.Repeat("a", 1<<20)
	deep := strings.Repeat("[", 20_000)
	many := "jobs:\n" + strings.Repeat("  a: {foo: 1}\n", 20_000)
	line := "jobs: {" + strings.Repeat("a-: {shel: x}, ", 100_000) + "}"
	var zones strings.Builder
	zones.WriteString("jobs:\n")
	for i := range 50_000 {
		fmt.Fprintf(&zones, "  job-%d: {shel: x, timezone: Berlinn}\n", i)
	}
	large := "jobs: {}\n" + strings.Repeat("# comment\n", MaxFile/10)
	for what, text := range map[string]string{
		"job name":    "jobs:\n  " + name + ": {shell: x}\n",
		"quoted name": "jobs:\n  \"" + strings.Repeat("ä", 1<<19) + "\": {shell: x}\n",
		"key":         "jobs:\n  a: {shell: x, \"" + name + "\": 1}\n",
		"zone":        "jobs:\n  a: {shell: x, timezone: \"" + name + "\"}\n",
		"expression":  "jobs:\n  a: {shell: x, schedule: \"" + name + "\"}\n",
		"url":         "jobs:\n  a: {http: {url: \"" + name + "\"}}\n",
		"number":      "jobs:\n  a: {shell: x, priority: " + strings.Repeat("1", 1<<20) + "}\n",
		"reference":   "jobs:\n  a: {shell: x, env: {A: \"${env:" + strings.Repeat("-", 1<<15) + "}\"}}\n",
		"variable":    "jobs:\n  a: {shell: x, env: {\"" + name + "\": [1]}}\n",
		"header":      "jobs:\n  a: {http: {url: \"http://x\", headers: {\"" + name + "\": [1]}}}\n",
		"label":       "jobs:\n  a: {shell: x, labels: {\"" + name + "\": [1]}}\n",
		"parameter":   "jobs:\n  a: {shell: x, params: {\"" + name + "\": [1]}}\n",
		"output":      "jobs:\n  a: {shell: x, outputs: {\"" + name + "\": [1]}}\n",
		"hook":        "jobs:\n  a: {shell: x, hooks: {h: {secret: \"${env:S}\", param: {" + name + ": \"{{ .X }}\"}}}}\n",
		"hook's list": "jobs:\n  a: {shell: x, hooks: {h: {secret: \"${env:S}\", param: {" + name + ": [1]}}}}\n",
		"retry":       "jobs:\n  a: {shell: x, retry: {on: [" + name + "]}}\n",
		"duration":    "jobs:\n  a: {shell: x, timeout: " + name + "}\n",
		"size":        "jobs:\n  a: {shell: x, resources: {memory: " + name + "}}\n",
		"rate":        "jobs:\n  a: {shell: x, limit: l}\nlimits: {l: {rate: " + name + "}}\n",
		"enum":        "jobs:\n  a: {shell: x, params: {p: {default: x, enum: [" + strings.Repeat("a", 4000) + "]}}}\n",
		"depth":       "jobs: " + deep,
		"many errors": many,
		"one line":    line,
		"many zones":  zones.String(),
		"large file":  large,
	} {
		t.Run(what, func(t *testing.T) {
			began := time.Now()
			_, err := ParseJobs("jobs.yaml", []byte(text))
			if err == nil {
				t.Fatal("accepted")
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
			var list Errors
			if !errors.As(err, &list) {
				t.Fatalf("got %T, want Errors", err)
			}
			for _, e := range list {
				if e.Hint == "" {
					t.Errorf("no hint: %.300v", e)
				}
				if n := len(e.Error()); n > 2000 {
					t.Fatalf("a message of %d bytes: %.300s", n, e)
				}
			}
			if len(list) > maxErrors+1 {
				t.Errorf("%d errors", len(list))
			}
		})
	}
}

func TestValuesThatAreTooLargeHaveAHint(t *testing.T) {
	list := func(count int, format string) string {
		parts := make([]string, count)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "N", fmt.Sprint(i))
		}
		return strings.Join(parts, ", ")
	}
	for _, text := range []string{
		"command: [" + list(maxArguments+1, "x") + "]",
		"shell: " + strings.Repeat("x", maxText+1),
		"shell: x, description: " + strings.Repeat("x", maxDescription+1),
		"shell: x, env: {" + list(maxEntries+1, "VN: x") + "}",
		"shell: x, workers: {" + list(maxEntries+1, "vN: x") + "}",
		"shell: x, schedule: [" + list(101, "N 1 * * *") + "]",
		"shell: x, schedule: '@daily', exclude: [" + list(10_001, "2026-01-01") + "]",
		"shell: x, notify: [" + list(maxNotifiers+1, "a") + "]",
		"shell: x, payload: " + strings.Repeat("x", maxPayload),
	} {
		_, err := ParseJobs("jobs.yaml", []byte("jobs: {a: {"+text+"}}\nnotifiers: {a: {url: 'ntfy://host/topic'}}\n"))
		var list Errors
		if !errors.As(err, &list) {
			t.Errorf("%.40s: got %v, want Errors", text, err)
		}
		for _, e := range list {
			if e.Hint == "" {
				t.Errorf("%.40s: no hint: %.300v", text, e)
			}
		}
	}
}

func TestPayloadOfAProgramFitsItsVariable(t *testing.T) {
	for action, most := range map[string]int{
		"shell: x": job.MaxToldPayload, "command: [x]": job.MaxToldPayload, "handler: x": maxPayload, "http: {url: 'http://x'}": maxPayload,
	} {
		for size, want := range map[int]bool{most: true, most + 1: false} {
			_, err := ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    "+action+"\n    payload: "+strings.Repeat("x", size-2)+"\n"))
			msg := fmt.Sprintf("jobs.yaml:4:14: payload has %d bytes as JSON, at most %d are allowed", size, most)
			if (err == nil) != want || err != nil && !strings.Contains(err.Error(), msg) {
				t.Errorf("%s with %d bytes: got %.200v, want it accepted: %v", action, size, err, want)
			}
		}
	}
}

func TestPayloadIsBounded(t *testing.T) {
	_, err := ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    shell: x\n    payload: "+strings.Repeat("x", maxPayload)+"\n"))
	if err == nil || !strings.Contains(err.Error(), "at most 262144 are allowed") {
		t.Errorf("got %.300v", err)
	}
}

// A job that is too large for the store is refused before any job of the files is applied.
func TestSizeOfAJobIsBounded(t *testing.T) {
	env := func(count int, rest string) string {
		var b strings.Builder
		b.WriteString("jobs:\n  a: {shell: x}\n  m:\n    shell: x\n    env:\n")
		for i := range count {
			fmt.Fprintf(&b, "      V%d: '%s'\n", i, strings.Repeat("&", 60_000)) // the store writes & without an escape
		}
		return b.String() + rest + "  z: {shell: x}\n"
	}
	set := parse1(t, env(6, ""))
	if _, known := set.Jobs["m"]; !known {
		t.Error("six values of 60 KB are refused")
	}
	notifiers := "    notify: [" + strings.Join(strings.Split("abcde", ""), ", ") + "]\n"
	defined := "notifiers:\n"
	for name := range strings.SplitSeq("abcde", "") {
		defined += "  " + name + ": {url: 'ntfy://host/" + strings.Repeat("x", 8_100) + "'}\n"
	}
	for what, text := range map[string]string{"nine values": env(9, ""), "six and five notifiers": defined + env(6, notifiers)} {
		_, err := ParseJobs("jobs.yaml", []byte(text))
		var list Errors
		if !errors.As(err, &list) || len(list) != 1 || !strings.HasSuffix(list[0].Msg, "at most 393216 are allowed") || list[0].Hint == "" ||
			strings.Split(text, "\n")[list[0].Line-1] != "  m:" || list[0].Col != 3 {
			t.Errorf("%s: got %.300v", what, err)
		}
	}
}

// A stranger may send a definition with a hundred thousand unknown keys. The search for what was meant must not keep a core busy.
func TestMistakesOfARequestAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&text, `"unknown%d":1,`, i)
	}
	_, err := ParseJob("a", []byte("{"+text.String()+`"shell":"true"}`), nil)
	var mistakes Errors
	if !errors.As(err, &mistakes) || len(mistakes) != 21 || !strings.Contains(mistakes[20].Msg, "more than 20 mistakes") {
		t.Errorf("got %d mistakes, want 20 and a note", len(mistakes))
	}
}

// A cycle of a few steps is shown in full, however long their names are. In a longer one, the middle is counted. The longest one here
// would take minutes if the time grew with the cube of its length.
func TestACycleIsShownWithItsPath(t *testing.T) {
	for steps, want := range map[int]string{
		2: " after job-b-", 14: " after job-n-", 50: " after … 39 more … after ", 3000: " after … 2989 more … after ",
	} {
		var text strings.Builder
		text.WriteString("jobs:\n")
		name := func(i int) string {
			name := fmt.Sprintf("job-%04d", i)
			if steps <= 26 {
				name = fmt.Sprintf("job-%c", 'a'+i)
			}
			return name + strings.Repeat("-x", (job.MaxNameLength-len(name))/2)
		}
		for i := range steps {
			fmt.Fprintf(&text, "  %s: {shell: x, after: %s}\n", name(i), name((i+1)%steps))
		}
		_, err := ParseJobs("jobs.yaml", []byte(text.String()))
		var list Errors
		if !errors.As(err, &list) || len(list) != 1 || len(list[0].Error()) > 2000 || !strings.Contains(list[0].Msg, want) ||
			!strings.HasPrefix(list[0].Msg, "after makes a cycle: "+name(0)+" after "+name(1)) ||
			!strings.HasSuffix(list[0].Msg, " after "+name(steps-1)+" after "+name(0)) {
			t.Errorf("%d steps: got %.3000v, want %s", steps, err, want)
		}
	}
}
