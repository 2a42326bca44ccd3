package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"syscall"
)

// shortages are the errors of a machine that has too few processes, descriptors, or too little memory.
var shortages = []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC}

func isShortage(err error) bool {
	return slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) })
}

// CheckStart returns why no program can be started now; nil if one can. A failed start alone does not show that: the job
// may have exhausted its own limits, or need more memory than other programs.
func CheckStart() error {
	err := (&exec.Cmd{Path: "/"}).Start() // creates a child, which then cannot execute a directory
	if !isShortage(err) {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("no program can be started: %w", err)
}
