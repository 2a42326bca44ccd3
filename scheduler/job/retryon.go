package job

import (
	"fmt"
	"strconv"
)

// RetryOn is one way in which an attempt ends and is retried: an exit code, "timeout", an HTTP status, or a class of statuses such
// as "5xx". Its text form is the one of job files.
type RetryOn string

// RetryOnTimeout stands for an attempt that timed out.
const RetryOnTimeout RetryOn = "timeout"

// ParseRetryOn reads the notation of job files.
func ParseRetryOn(text string) (RetryOn, error) {
	on := RetryOn(text)
	if on == RetryOnTimeout {
		return on, nil
	}
	if len(text) == 3 && text[1:] == "xx" && text[0] >= '1' && text[0] <= '5' {
		return on, nil
	}
	if code, err := strconv.Atoi(text); err == nil && code >= 0 && code <= 599 && strconv.Itoa(code) == text {
		return on, nil
	}
	return "", fmt.Errorf("%.40q is no exit code, no HTTP status, no class such as 5xx, and not timeout", text)
}

// Matches reports whether on means an attempt that ended with o.
func (on RetryOn) Matches(o *Outcome) bool {
	if o.State == TimedOut {
		return on == RetryOnTimeout
	}
	if o.Exit == nil {
		return false
	}
	code := strconv.Itoa(*o.Exit)
	return string(on) == code || len(on) == 3 && on[1:] == "xx" && len(code) == 3 && code[0] == on[0]
}

func checkRetryOn(list []RetryOn) error {
	for _, on := range list {
		if _, err := ParseRetryOn(string(on)); err != nil {
			return fmt.Errorf("retry.on: %w", err)
		}
	}
	return nil
}
