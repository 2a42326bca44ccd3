package job

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration whose JSON and YAML are Go's notation, such as "1h30m".
type Duration time.Duration

// DurationPattern is a regular expression for the notation without a minus sign, because no duration of a job is negative.
const DurationPattern = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)` +
	`(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$|^[+-]?0$`

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns Go's notation without zero units: "1h", not "1h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if n := len(s); n > 2 && s[n-2:] == "0s" && s[n-3] == 'm' {
		s = s[:n-2]
		if n := len(s); n > 2 && s[n-2:] == "0m" && s[n-3] == 'h' {
			s = s[:n-2]
		}
	}
	return s
}

// append appends d to b as String returns it. Whole seconds need no allocation.
func (d Duration) append(b []byte) []byte {
	s := d.Std() / time.Second
	if d <= 0 || d.Std()%time.Second != 0 {
		return append(b, d.String()...)
	}
	h, m, s := int64(s/3600), int64(s/60%60), s%60
	if h > 0 {
		b = append(strconv.AppendInt(b, h, 10), 'h')
	}
	if m > 0 || h > 0 && s > 0 {
		b = append(strconv.AppendInt(b, m, 10), 'm')
	}
	if s > 0 {
		b = append(strconv.AppendInt(b, int64(s), 10), 's')
	}
	return b
}

// MarshalJSON writes the notation as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the notation. It refuses a bare number, whose unit is unknown.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("duration %s: write it with a unit, for example \"30s\"", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("duration %q: write it with a unit, for example \"30s\"", s)
	}
	*d = Duration(v)
	return nil
}

// longUnits are the units of time spans that Go's notation does not have.
var longUnits = map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// maxSpan is the longest span in days or weeks. A Duration can hold at most about three centuries.
const maxSpan = 36500 * 24 * time.Hour

// ParseSpan reads a time span: in Go's notation, or in days or weeks, such as 7d, 0.5d or 1w. It may be negative.
func ParseSpan(text string) (time.Duration, error) {
	number := strings.TrimRight(text, "dw")
	unit, ok := longUnits[text[len(number):]]
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseFloat(number, 64)
	if most := float64(maxSpan / unit); err != nil || n != n || n > most || n < -most {
		return 0, fmt.Errorf("%q is not a time span", text)
	}
	return time.Duration(n * float64(unit)), nil
}
