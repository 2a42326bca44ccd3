package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// harden keeps jobs away from this process. Jobs run as the same user as a rule, and could otherwise read the variables, the
// memory and the open files of the process that holds every secret. Children can be inspected as before.
//
// Descriptors that this process inherited, such as those of a shell, are closed for jobs.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect process from jobs: %w", err)
	}
	// Kernels before 5.11 lack the flag. Then jobs inherit what this process inherited, as they did before.
	_ = unix.CloseRange(3, maxDescriptor, unix.CLOSE_RANGE_CLOEXEC)
	return nil
}

const maxDescriptor = 1<<31 - 1
