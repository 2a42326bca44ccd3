package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// explained returns the mistake in a field that the library refuses. text is the field as the user wrote it, in upper case. nil
// means that explained does not know the mistake; then the caller uses the library's own message.
func explained(k kind, text string) *refusal {
	for part := range strings.SplitSeq(text, ",") {
		ends, step, stepped := strings.Cut(part, "/")
		if err := explainedEnds(k, part, ends); err != nil {
			return err
		}
		if !stepped {
			continue
		}
		low, high := k.limits()
		switch n, err := strconv.Atoi(step); {
		case err != nil || n < 1:
			return k.refused(part, fmt.Sprintf("such as %s/%d", ends, min(5, high)), "a step is a number, 1 or more")
		case n > high-low:
			return k.refused(part, k.longStep(n), "a step of %d exceeds the range of %ss, %d-%d", n, k, low, high)
		}
	}
	return nil
}

// explainedEnds does the same as explained, for the part of the field before the step.
func explainedEnds(k kind, part, ends string) *refusal {
	switch {
	case ends == "*", ends == "?", strings.HasPrefix(ends, "H"):
		return nil
	case k == dayOfMonth && strings.HasPrefix(ends, "L"):
		offset, ok := strings.CutPrefix(ends, "L-")
		if n, err := strconv.Atoi(offset); ok && (err != nil || n < 1 || n > 30) {
			return k.refused(part, "L-3 is three days before the last day of the month", "the number after L- is not in 1-30")
		}
		return nil
	case k == dayOfMonth && strings.HasSuffix(ends, "W"):
		return k.explainedValue(strings.TrimSuffix(ends, "W"))
	case k == dayOfWeek:
		day, nth, counted := strings.Cut(ends, "#")
		if n, err := strconv.Atoi(nth); counted && nth != "L" && (err != nil || n < 1 || n > 5) {
			return k.refused(part, fmt.Sprintf("%s#1 to %s#5, or %sL for the last", day, day, day), "the number after # is not in 1-5")
		}
		ends = strings.TrimSuffix(day, "L")
	}
	from, to, isRange := strings.Cut(ends, "-")
	if strings.Contains(to, "-") {
		return k.refused(part, "such as 1-5", "a range has two ends")
	}
	if err := k.explainedValue(from); err != nil || !isRange {
		return err
	}
	return k.explainedValue(to)
}

// explainedValue returns why the field cannot have a value, nil if it can.
func (k kind) explainedValue(text string) *refusal {
	low, high := k.limits()
	if digits := strings.TrimLeft(text, "0123456789"); text != "" && digits == "" {
		if n, err := strconv.Atoi(text); err != nil || n < low || n > high {
			return refused(k.values(), "%s %s is not in %d-%d", k, text, low, high)
		}
		return nil
	}
	if names := k.names(); len(text) == 3 && strings.Index(names, text)%3 == 0 {
		return nil
	}
	what := "a number"
	if k.names() != "" {
		what = "a number or a name"
	}
	return refused(k.values(), "%s %q is not %s", k, text, what)
}

// names returns the names of the field's values, three letters each; "" if they have none.
func (k kind) names() string {
	switch k {
	case month:
		return "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"
	case dayOfWeek:
		return weekdayNames
	}
	return ""
}

// values returns a hint on the values of the field.
func (k kind) values() string {
	low, high := k.limits()
	switch k {
	case dayOfMonth:
		return fmt.Sprintf("days of the month go from %d to %d", low, high)
	case month:
		return fmt.Sprintf("months go from %d to %d, or JAN to DEC", low, high)
	case dayOfWeek:
		return fmt.Sprintf("days of the week go from %d to %d, of which both are Sunday, or SUN to SAT", low, high)
	}
	return fmt.Sprintf("%ss go from %d to %d", k, low, high)
}

// longStep returns a hint how to express a period that is too long for a step of the field.
func (k kind) longStep(n int) string {
	switch k {
	case second, minute, hour:
		return fmt.Sprintf("for every %d %ss write every: %d%c", n, k, n, k.String()[0])
	}
	return k.values()
}
