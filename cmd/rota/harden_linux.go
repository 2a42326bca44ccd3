package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// harden protects this process from jobs, which usually run as the same user. Without it, a job could read the variables, the
// memory and the open files of this process, which has all secrets. It does not protect child processes.
//
// Jobs also do not inherit the descriptors that this process inherited, for example from a shell.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect process from jobs: %w", err)
	}
	// Kernels before 5.11 do not know the flag. There jobs inherit these descriptors.
	_ = unix.CloseRange(3, maxDescriptor, unix.CLOSE_RANGE_CLOEXEC)
	return nil
}

const maxDescriptor = 1<<31 - 1
