package job

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Resources limits what all processes of one attempt may use together. Zero means no limit.
type Resources struct {
	Memory Size `json:"memory,omitempty"`
	CPU    CPUs `json:"cpu,omitempty"`
	PIDs   int  `json:"pids,omitempty"` // processes and threads that exist at a time
}

// Kinds lists the limited resources by the names that workers announce: "cpu", "memory", "pids".
func (r *Resources) Kinds() (list []string) {
	if r == nil {
		return nil
	}
	if r.CPU > 0 {
		list = append(list, "cpu")
	}
	if r.Memory > 0 {
		list = append(list, "memory")
	}
	if r.PIDs > 0 {
		list = append(list, "pids")
	}
	return list
}

// Size is a number of bytes. Its JSON is text such as "512MiB".
type Size int64

// units are the units of a Size, smallest first.
var units = []string{"Ki", "Mi", "Gi", "Ti"}

// ParseSize reads "512MiB" or "1.5GiB", also without the B, as Kubernetes writes it. It refuses ambiguous units: M means 1000² to
// Kubernetes and 1024² to systemd.
func ParseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "BKMGTPEbkmgtpei ")
	unit := strings.TrimSuffix(text[len(digits):], "B")
	for i, u := range units {
		if u != unit {
			continue
		}
		n, err := parseDecimal(digits)
		if bytes := n * float64(int64(1024)<<(10*i)); err == nil && bytes < 1<<62 {
			return Size(bytes), nil
		}
	}
	return 0, fmt.Errorf("size %q: write it in KiB, MiB, GiB or TiB, for example \"512MiB\"", text)
}

// String returns the notation with the largest unit that makes s a whole number.
func (s Size) String() string {
	for i, name := range slices.Backward(units) {
		if unit := Size(1024) << (10 * i); s != 0 && s%unit == 0 {
			return strconv.FormatInt(int64(s/unit), 10) + name + "B"
		}
	}
	return strconv.FormatFloat(float64(s)/1024, 'f', -1, 64) + "KiB"
}

// MarshalJSON writes the notation as a string.
func (s Size) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads the notation. It refuses a bare number, whose unit is unknown.
func (s *Size) UnmarshalJSON(b []byte) (err error) {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*s, err = ParseSize(text)
	return err
}

// CPUs is a number of CPUs, in thousandths. Its JSON is text such as "0.5".
type CPUs int

// ParseCPUs reads whole thousandths, such as "2", "0.5" or "500m".
func ParseCPUs(text string) (CPUs, error) {
	digits, milli := strings.CutSuffix(text, "m")
	n, err := parseDecimal(digits)
	if !milli {
		n *= 1000
	}
	if whole := math.Round(n); err == nil && math.Abs(n-whole) < 1e-6 && n <= math.MaxInt32 {
		return CPUs(whole), nil
	}
	return 0, fmt.Errorf("cpu %q: write a number of CPUs, for example \"2\", \"0.5\" or \"500m\"", text)
}

// String returns the number without trailing zeros.
func (c CPUs) String() string { return strconv.FormatFloat(float64(c)/1000, 'f', -1, 64) }

// MarshalJSON writes the notation as a string.
func (c CPUs) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// UnmarshalJSON reads the notation, or a number.
func (c *CPUs) UnmarshalJSON(b []byte) (err error) {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	*c, err = ParseCPUs(text)
	return err
}

// parseDecimal reads digits with at most one point, without sign or exponent.
func parseDecimal(text string) (float64, error) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, 64)
}
