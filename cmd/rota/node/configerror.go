package node

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"
)

// ConfigError is a mistake in the settings, or in what they name: starting again does not mend it.
type ConfigError struct{ Err error }

func (e *ConfigError) Error() string { return e.Err.Error() }
func (e *ConfigError) Unwrap() error { return e.Err }

// IsConfig says whether an error is one of configuration.
func IsConfig(err error) bool {
	var bad *ConfigError
	var old *OldEtcdError
	var taken *NameTakenError
	return errors.As(err, &bad) || errors.As(err, &old) || errors.As(err, &taken)
}

// lacks are errors of a machine that is short of something, or breaks: they may be gone at the next start.
var lacks = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EINTR,
}

// badConfig marks the error of something that settings name as a ConfigError, unless the machine is at fault.
func badConfig(err error) error {
	if err == nil || slices.ContainsFunc(lacks, func(lack error) bool { return errors.Is(err, lack) }) {
		return err
	}
	return &ConfigError{err}
}

// badPlace is badConfig for what can fail for many reasons, of which one is that we may not write where we are told to.
func badPlace(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return &ConfigError{err}
	}
	return err
}
