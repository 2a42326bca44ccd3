package job

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var outputName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,62}$`)

// IsOutputName reports whether name may be the name of an output.
func IsOutputName(name string) bool { return outputName.MatchString(name) }

// CheckOutputs returns why the outputs of an attempt are refused; nil if they are sound.
func CheckOutputs(outputs map[string]string) error {
	if len(outputs) == 0 { // the usual case: even a sorted list of no names allocates
		return nil
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if !IsOutputName(name) {
			return fmt.Errorf("output %.40q: a name has letters, digits and _, begins with a letter, and has at most 63 characters", name)
		}
		if value := outputs[name]; strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			return fmt.Errorf("output %s must be a text in UTF-8 without zero bytes", name)
		}
		if size += len(name) + len(outputs[name]) + 2; size > MaxOutputs {
			return fmt.Errorf("outputs are larger than %d KiB", MaxOutputs>>10)
		}
	}
	return nil
}

// ParseOutputs reads the file that a program writes: lines of name=value. A later line replaces an earlier one of the same name.
func ParseOutputs(text string) (map[string]string, error) {
	outputs := map[string]string{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !IsOutputName(name) {
			return nil, fmt.Errorf("line %d is not name=value, with a name of letters, digits and _", number)
		}
		outputs[name] = value
	}
	if len(outputs) == 0 {
		return nil, nil
	}
	return outputs, CheckOutputs(outputs)
}
