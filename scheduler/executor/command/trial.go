package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"syscall"
)

// lacks are errors of a machine that is short of something: processes, memory, descriptors.
var lacks = []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC}

func lacking(err error) bool {
	return slices.ContainsFunc(lacks, func(lack error) bool { return errors.Is(err, lack) })
}

// Trial says why no program can be started now, nil if one can. A job may exhaust its own limits, or be a program for which there
// is not the memory; that says nothing about others.
func Trial() error {
	err := (&exec.Cmd{Path: "/"}).Start() // the child is made, and is refused what it was to execute
	if !lacking(err) {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("no program can be started: %w", err)
}
