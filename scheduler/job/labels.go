package job

import (
	"errors"
	"fmt"
	"strings"
)

// MaxLabels is the largest number of labels of a job.
const MaxLabels = 64

// The longest parts of a label, in bytes, as Kubernetes has them.
const (
	maxLabelPart   = 63
	maxLabelPrefix = 253
)

// CheckLabel returns an error unless key and value form a label as Kubernetes has it. The key is a name, or a DNS name, a slash
// and a name. A name has letters, digits, dashes, dots and underscores, with a letter or a digit at both ends. The value
// has the form of a name, and may be empty.
func CheckLabel(key, value string) error {
	if err := checkLabelKey(key); err != nil {
		return fmt.Errorf("label %.70q: %w", key, err)
	}
	if value == "" {
		return nil
	}
	if err := checkLabelPart(value); err != nil {
		return fmt.Errorf("label %s: value %.70q: %w", key, value, err)
	}
	return nil
}

func checkLabelKey(key string) error {
	prefix, name, ok := strings.Cut(key, "/")
	if !ok {
		return checkLabelPart(key)
	}
	if prefix == "" || len(prefix) > maxLabelPrefix {
		return fmt.Errorf("part before the slash must have 1 to %d bytes", maxLabelPrefix)
	}
	for part := range strings.SplitSeq(prefix, ".") {
		if CheckName(part) != nil {
			return errors.New("part before the slash must be a DNS name, such as example.com")
		}
	}
	return checkLabelPart(name)
}

func checkLabelPart(s string) error {
	if s == "" || len(s) > maxLabelPart {
		return fmt.Errorf("must have 1 to %d bytes", maxLabelPart)
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(s)-1:
		default:
			return fmt.Errorf("%q is not allowed at position %d: use letters, digits, and inner dashes, dots and underscores",
				s[i:i+1], i+1)
		}
	}
	return nil
}

// checkLabels returns an error if a label of s is malformed.
func (s *Spec) checkLabels() error {
	if len(s.Labels) > MaxLabels {
		return fmt.Errorf("%d labels, at most %d are allowed", len(s.Labels), MaxLabels)
	}
	for key, value := range s.Labels {
		if err := CheckLabel(key, value); err != nil {
			return err
		}
	}
	return nil
}
