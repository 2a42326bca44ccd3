//go:build unix && !linux

package procs

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked finds nothing: other systems do not show the environment of a process.
func killMarked(map[string]bool, time.Duration) error { return nil }

func findMarked(map[string]bool) map[string][]int { return nil }

// SignalOutside does nothing: nobody finds any.
func SignalOutside(int, []int, string, syscall.Signal) error { return nil }

// Alive says whether the process group has a member.
func Alive(pgid int) bool { return unix.Kill(-pgid, 0) == nil }
