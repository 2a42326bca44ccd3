package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// kind is a field of a cron expression.
type kind int

const (
	second kind = iota
	minute
	hour
	dayOfMonth
	month
	dayOfWeek
)

func (k kind) String() string {
	return [...]string{"second", "minute", "hour", "day of month", "month", "day of week"}[k]
}

// limits returns the smallest and largest value of the field.
func (k kind) limits() (low, high int) {
	l := [...][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}[k]
	return l[0], l[1]
}

func (k kind) refused(text, hint, format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf("%s %q: ", k, text) + fmt.Sprintf(format, args...), hint}
}

// rewritten is a field in the library's dialect.
type rewritten struct {
	text  string
	stars bool // a part of it is *, */n or H/n
}

// rewriteField turns a field in upper case into the library's dialect. It refuses fields that the library accepts by mistake.
func rewriteField(k kind, text, seed string) (rewritten, *refusal) {
	var out rewritten
	parts := strings.Split(text, ",")
	for i, part := range parts {
		var err *refusal
		switch {
		case part == "":
			return out, k.refused(text, "remove a comma, or write the missing value", "has an empty entry in its list")
		case strings.ContainsFunc(part, notInField):
			return out, k.refused(text, k.values(), "has a character that is not allowed")
		case part[0] == '*', part[0] == '?':
			if len(part) > 1 && part[1] != '/' {
				return out, k.refused(text, fmt.Sprintf("such as %c/5", part[0]), "only a step can follow %c", part[0])
			}
			out.stars = true
		case part[0] == 'H':
			parts[i], err = hashed(k, part, seed)
			out.stars = out.stars || strings.HasPrefix(part, "H/")
		case k == dayOfWeek:
			parts[i], err = rewriteWeekday(k.onlyFirst(part))
		default:
			parts[i] = k.onlyFirst(part)
		}
		if err != nil {
			return out, err
		}
	}
	out.text = strings.Join(parts, ",")
	return out, nil
}

// onlyFirst returns the first value of a range whose step leads beyond its end, such as 53/7 or 0-10/20. Vixie cron and robfig's
// library take the value alone, and this library refuses the range. onlyFirst does not change any other part.
func (k kind) onlyFirst(part string) string {
	ends, text, _ := strings.Cut(part, "/")
	from, to, isRange := strings.Cut(ends, "-")
	low, high := k.limits()
	if !isRange {
		to = strconv.Itoa(high)
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	step, err3 := strconv.Atoi(text)
	if errors.Join(err1, err2, err3) != nil || first < low || last < first || last > high || step <= last-first || step > high-low {
		return part
	}
	return from
}

func notInField(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("*?/-#()", r)
}

// hashed replaces H, H(a-b), H/n and H(a-b)/n by fixed numbers. It computes them from seed, the name of the job.
func hashed(k kind, part, seed string) (string, *refusal) {
	low, high := k.limits()
	switch k {
	case dayOfMonth:
		high = 28 // every month has these days
	case dayOfWeek:
		high = 6 // 7 would be Sunday again
	}
	within, step, stepped := strings.Cut(part[1:], "/")
	if within != "" {
		least, most := k.limits()
		a, b, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(within, "("), ")"), "-")
		var errLow, errHigh error
		low, errLow = strconv.Atoi(a)
		high, errHigh = strconv.Atoi(b)
		if !ok || errLow != nil || errHigh != nil || within != fmt.Sprintf("(%s-%s)", a, b) || low < least || high > most || low > high {
			return "", k.refused(part, fmt.Sprintf("such as H(%d-%d)", least, most), "is not a range for H")
		}
	}
	if !stepped {
		return strconv.Itoa(low + int(draw(seed, byte(k), uint64(high-low+1)))), nil
	}
	n, err := strconv.Atoi(step)
	if err != nil || n < 1 || n > high-low+1 {
		return "", k.refused(part, fmt.Sprintf("1 to %d", high-low+1), "is not a step for H")
	}
	var values []string
	for v := low + int(draw(seed, byte(k), uint64(n))); v <= high; v += n {
		values = append(values, strconv.Itoa(v))
	}
	return strings.Join(values, ","), nil
}

// rewriteWeekday turns 5L into 5#L. It refuses a wrapped range with a step, because the library counts Sunday twice in it,
// as 0 and 7.
func rewriteWeekday(part string) (string, *refusal) {
	day, isLast := strings.CutSuffix(part, "L")
	switch {
	case part == "L":
		return "", dayOfWeek.refused(part, "6, or 6L for the last Saturday of the month", "L needs a day here")
	case isLast && !strings.HasSuffix(day, "#"):
		return day + "#L", nil
	}
	ends, _, stepped := strings.Cut(part, "/")
	if a, b, isRange := strings.Cut(ends, "-"); stepped && isRange && weekdayNumber(a) > weekdayNumber(b) {
		return "", dayOfWeek.refused(part, "list the days", "a range past Saturday cannot have a step")
	}
	return part, nil
}

const weekdayNames = "SUNMONTUEWEDTHUFRISAT"

// weekdayNumber returns the number of a weekday's name or digit, or -1.
func weekdayNumber(text string) int {
	if i := strings.Index(weekdayNames, text); len(text) == 3 && i%3 == 0 {
		return i / 3
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return -1
}

// jitterSalt makes the number for jitter independent of those for the fields of an expression, whose salt is their index.
const jitterSalt = 0xff

// draw returns a number in [0, n) that depends only on seed and salt. It must never change, because the times of every
// job with H or jitter depend on it.
func draw(seed string, salt byte, n uint64) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // of FNV-1a: hash/fnv would allocate
	h := (offset ^ uint64(salt)) * prime
	for i := range len(seed) {
		h = (h ^ uint64(seed[i])) * prime
	}
	hi, _ := bits.Mul64(mix(h), n)
	return hi
}

// mix spreads every input bit over the whole word, by the finalizer of MurmurHash3. With FNV alone, the names job-1 and
// job-2 would get numbers next to each other.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}
