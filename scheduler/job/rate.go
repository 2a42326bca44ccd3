package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate bounds how many attempts may begin in a time, such as "10/s". The zero Rate is no bound.
type Rate struct {
	Count int
	Per   time.Duration // a second, a minute or an hour
}

// MaxRate is the highest count of a Rate.
const MaxRate = 100_000

var ratePers = []struct {
	per  time.Duration
	unit string
}{{time.Second, "s"}, {time.Minute, "m"}, {time.Hour, "h"}}

// ParseRate reads a rate.
func ParseRate(s string) (Rate, error) {
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > MaxRate || strconv.Itoa(n) != count {
		return Rate{}, fmt.Errorf("rate %q: write a number from 1 to %d and /s, /m or /h, for example \"10/s\"", s, MaxRate)
	}
	for _, p := range ratePers {
		if p.unit == unit {
			return Rate{n, p.per}, nil
		}
	}
	return Rate{}, fmt.Errorf("rate %q: write /s, /m or /h after the number, for example \"10/s\"", s)
}

// Interval returns the least time between the beginnings of two attempts. So attempts never begin in bursts. It is zero
// without a bound.
func (r Rate) Interval() time.Duration {
	if r.Count <= 0 {
		return 0
	}
	n := time.Duration(r.Count)
	return (r.Per + n - 1) / n
}

// String returns the notation that ParseRate reads.
func (r Rate) String() string {
	for _, p := range ratePers {
		if p.per == r.Per {
			return strconv.Itoa(r.Count) + "/" + p.unit
		}
	}
	return strconv.Itoa(r.Count) + "/" + r.Per.String()
}

// IsZero reports whether there is no bound.
func (r Rate) IsZero() bool { return r == Rate{} }

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}
