package importer

import (
	"math"
	"strconv"
	"strings"
)

// memorySize converts a quantity of Kubernetes, such as 512Mi or 500M, into rota's form.
func memorySize(text string) string {
	for i, suffix := range []string{"k", "M", "G", "T"} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			return kib(digits, math.Pow10(3*(i+1)))
		}
	}
	if digits := strings.TrimRight(text, "0123456789"); digits == "" {
		return kib(text, 1)
	}
	return text
}

// kib converts a number of units into a text in KiB, rounded down. unit is the size of a unit in bytes.
func kib(digits string, unit float64) string {
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return digits
	}
	return strconv.FormatInt(int64(n*unit/1024), 10) + "KiB"
}
