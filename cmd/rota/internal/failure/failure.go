package failure

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// ConfigError is a mistake in the settings, or in a file or address that they name. A restart does not help.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// IsConfig reports whether err is or wraps a ConfigError.
func IsConfig(err error) bool {
	var bad *ConfigError
	return errors.As(err, &bad)
}

// shortages are the errors of a machine that lacks a resource or is defective. A restart may help.
var shortages = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR,
}

// Config marks err as a ConfigError, unless the machine is at fault. It returns nil for nil.
func Config(err error) error {
	if err == nil || slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) }) {
		return err
	}
	return &ConfigError{err}
}

// Place marks err as a ConfigError only if this process has no right to write to a place that the settings name.
func Place(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &ConfigError{err}
	}
	return err
}

// Short returns the description of a gRPC error without its code, and the whole text of any other error.
func Short(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, "desc = "); i >= 0 {
		s = s[i+len("desc = "):]
	}
	return strings.Trim(s, `"`)
}
