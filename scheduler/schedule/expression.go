package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"
)

// refusal describes the mistake in an expression. hint says what to write instead.
type refusal struct{ msg, hint string }

func refused(hint, format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf(format, args...), hint}
}

// parseExpression turns the text of a cron expression into a rule.
func parseExpression(text, seed string, gap Gap, fold Fold) (rule, *refusal) {
	if len(text) > MaxExpression {
		return rule{}, refused("split it into a list", "is longer than %d bytes", MaxExpression)
	}
	text = strings.ToUpper(strings.TrimSpace(text))
	switch {
	case text == "":
		return rule{}, refused("five fields, such as 30 2 * * *", "is empty")
	case strings.HasPrefix(text, "TZ="), strings.HasPrefix(text, "CRON_TZ="):
		return rule{}, refused("write timezone: beside schedule:", "a time zone does not belong in the expression")
	case strings.HasPrefix(text, "@EVERY"):
		return parseEvery(strings.TrimPrefix(text, "@EVERY"))
	case strings.HasPrefix(text, "@"):
		plain, err := descriptor(text)
		if err != nil {
			return rule{}, err
		}
		text = plain
	}
	r, ok := expressions.get(text)
	if !ok {
		var err *refusal
		if r, err = parseWritten(text, seed); err != nil {
			return rule{}, err
		}
		if !Hashed(text) {
			expressions.put(text, r)
		}
	}
	r.gap, r.fold = gap, fold
	if r.elapsed {
		r.gap, r.fold = GapSkip, FoldBoth
	}
	return r, nil
}

// Hashed reports whether an expression has H. If so, its slots depend on the Seed.
func Hashed(text string) bool {
	for field := range strings.FieldsSeq(text) {
		for item := range strings.SplitSeq(field, ",") {
			if strings.HasPrefix(strings.ToUpper(item), "H") {
				return true
			}
		}
	}
	return false
}

// parseWritten parses an expression of five or six fields, in upper case. The rule has no gap and no fold yet.
func parseWritten(text, seed string) (rule, *refusal) {
	parts, err := splitFields(text)
	if err != nil {
		return rule{}, err
	}
	elapsed, written := false, slices.Clone(parts)
	for i := range parts {
		field, err := rewriteField(kind(i), parts[i], seed)
		if err != nil {
			return rule{}, err
		}
		parts[i] = field.text
		elapsed = elapsed || field.stars && (kind(i) == minute || kind(i) == hour)
	}
	plain := strings.Join(parts, " ")
	f, ok := parsed.get(plain)
	if !ok {
		if f, err = parseFields(parts, written); err != nil {
			return rule{}, err
		}
		if _, ok := f.next(0); !ok {
			return rule{}, refused("write a day that the month has, or L for its last", neverFires+": there is no such day in any year")
		}
		parsed.put(plain, f)
	}
	return rule{fields: f, elapsed: elapsed}, nil
}

// splitFields returns the six fields of an expression, with the second 0 if it has only five.
func splitFields(text string) ([]string, *refusal) {
	parts := strings.Fields(text)
	switch len(parts) {
	case 5:
		return append([]string{"0"}, parts...), nil
	case 6:
		return parts, nil
	case 7:
		return nil, refused("years are not supported; use start: and end:", "has 7 fields, 5 or 6 are allowed")
	}
	return nil, refused("minute, hour, day, month, weekday", "has %d fields, 5 or 6 are allowed", len(parts))
}

// parseFields passes six rewritten fields to the library. The library's messages do not name a field, so the wrong one
// is found by parsing the fields one at a time. written has the original fields.
func parseFields(parts, written []string) (*fields, *refusal) {
	parser, err := cron.TryNewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
		cron.Extended | cron.DowOrDom)
	if err != nil {
		return nil, refused("minute, hour, day, month, weekday", "cannot be parsed: %v", err)
	}
	parsed, err := parser.Parse(strings.Join(parts, " "))
	if spec, ok := parsed.(*cron.SpecSchedule); ok && err == nil {
		return newFields(spec, beginsWithStar(parts[3]), beginsWithStar(parts[5])), nil
	}
	for i, part := range parts {
		alone := []string{"*", "*", "*", "*", "*", "*"}
		alone[i] = part
		if _, err := parser.Parse(strings.Join(alone, " ")); err != nil {
			if why := explained(kind(i), written[i]); why != nil {
				return nil, why
			}
			return nil, kind(i).refused(written[i], kind(i).values(), "%s", plainMessage(err))
		}
	}
	return nil, refused("minute, hour, day, month, weekday", "cannot be parsed: %v", err)
}

// plainMessage returns the library's message without terms of Go and without the repeated expression at its end.
func plainMessage(err error) string {
	msg := err.Error()
	switch {
	case strings.Contains(msg, "failed to parse int"):
		return "is not a number, a name or a range of them"
	case strings.Contains(msg, "requires DomW option"):
		return "W goes with one day, as in 15W, and with nothing else"
	}
	for _, repeated := range []string{": \"", " in \""} {
		if i := strings.LastIndex(msg, repeated); i > 0 {
			msg = msg[:i]
		}
	}
	return msg
}

// descriptors are the words for whole expressions.
var descriptors = map[string]string{
	"@HOURLY": "0 * * * *", "@DAILY": "0 0 * * *", "@MIDNIGHT": "0 0 * * *", "@WEEKLY": "0 0 * * 0", "@MONTHLY": "0 0 1 * *",
	"@YEARLY": "0 0 1 1 *", "@ANNUALLY": "0 0 1 1 *",
}

// descriptor returns the expression of a word such as @DAILY.
func descriptor(word string) (string, *refusal) {
	if word == "@REBOOT" {
		return "", refused("run it from the machine's own boot, or trigger it with rota run", "a cluster does not reboot")
	}
	plain, ok := descriptors[word]
	if !ok {
		return "", refused("@hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every D", "is not a known word")
	}
	return plain, nil
}

func parseEvery(text string) (rule, *refusal) {
	d, err := time.ParseDuration(strings.ToLower(strings.TrimSpace(text)))
	if err != nil {
		return rule{}, refused("such as @every 90s or @every 1h30m", "is not a duration")
	}
	return everyRule(d)
}

func everyRule(d time.Duration) (rule, *refusal) {
	switch {
	case d < MinEvery:
		return rule{}, refused("write 1s or more", "is shorter than %s", MinEvery)
	case d > MaxEvery:
		return rule{}, refused("write 87600h or less", "is longer than 10 years")
	case d%time.Millisecond != 0:
		return rule{}, refused(roundHint, "is finer than a millisecond")
	}
	return rule{period: d.Milliseconds()}, nil
}
