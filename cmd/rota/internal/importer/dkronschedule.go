package importer

import (
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// dkronSchedule translates a schedule. An expression of dkron begins with seconds, which rota supports too.
func (t *translation) dkronSchedule(f *fields, name string, s *job.Spec) {
	text, line := f.text("schedule"), f.lineOf("schedule")
	word, rest, _ := strings.Cut(text, " ")
	zoned, child := false, f.text("parent_job") != "" // dkron ignores the schedule of a child
	if key, zone, _ := strings.Cut(word, "="); rest != "" && (key == "TZ" || key == "CRON_TZ") {
		zoned, s.Timezone, text = true, zone, strings.TrimSpace(rest)
		word, rest, _ = strings.Cut(text, " ")
	}
	switch {
	case text == "" || text == "@manually":
		if !child && text == "" {
			t.note(f.line, "the job has no schedule: it runs when a client asks")
		}
	case word == "@every":
		d, err := time.ParseDuration(rest)
		if err != nil {
			t.lost(line, "schedule %q: %v", text, err)
			return
		}
		s.Every = job.Duration(d)
		t.note(line, "@every: dkron counts from its own start, rota from 1970-01-01T00:00:00Z")
	case word == "@at":
		at, err := time.Parse(time.RFC3339, rest)
		if err != nil {
			t.lost(line, "schedule %q is no instant", text)
			return
		}
		s.At = []time.Time{at}
	case word == "@minutely":
		s.Schedule = []string{"* * * * *"}
	default:
		switch ignored := strings.HasPrefix(word, "@") && !zoned && s.Timezone != ""; {
		case child:
		case ignored:
			t.note(f.lineOf("timezone"), "timezone: with %s, dkron ignores it and uses that of its servers, the job here uses UTC", word)
			s.Timezone = ""
		case s.Timezone == "":
			t.note(line, "no timezone: dkron uses that of its servers, the job here uses UTC")
		}
		s.Schedule = []string{t.robfigSchedule(line, "dkron", dkronHash(name, text))}
	}
}

// dkronHash replaces each ~ in an expression by the number that dkron makes of the name of the job.
func dkronHash(name, text string) string {
	if !strings.Contains(text, "~") {
		return text
	}
	hash := 0
	for _, c := range name {
		hash += int(c)
	}
	fields := strings.Fields(text)
	for i, field := range fields {
		n := hash % 60
		switch i {
		case 2:
			n = hash % 24
		case 3:
			n = hash%28 + 1
		case 4:
			n = hash%12 + 1
		case 5:
			n = hash % 7
		}
		fields[i] = strings.ReplaceAll(field, "~", strconv.Itoa(n))
	}
	return strings.Join(fields, " ")
}

// dkronTime reads an instant; nil if there is none.
func (t *translation) dkronTime(f *fields, key string) *time.Time {
	text := f.text(key)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.lost(f.lineOf(key), "%s %q is no instant", key, text)
	} else if at.Year() > 1 {
		return &at
	}
	return nil
}

// beforeShell returns the part of a command that dkron executes without a shell, and the part that it drops. The latter begins with
// one of the characters ;&|<> outside of quotes. If > follows a number, such as in 2>, the number is dropped too.
func beforeShell(command string) (kept, dropped string) {
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(";&|<>", c) >= 0:
			kept = command[:i]
			if words := strings.Fields(kept); c == '>' && len(words) > 0 && strings.HasSuffix(kept, words[len(words)-1]) {
				if _, err := strconv.ParseUint(words[len(words)-1], 10, 64); err == nil {
					kept = strings.TrimSuffix(kept, words[len(words)-1])
				}
			}
			return kept, command[len(kept):]
		}
	}
	return command, ""
}
