package job

import (
	"encoding/json"
	"fmt"
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
