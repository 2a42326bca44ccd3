//go:build unix && !linux

package procs

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killMarked finds no processes, since other systems do not show their environments.
func killMarked(map[string]bool, time.Duration, bool) error { return nil }

func findMarked(map[string]bool) finds { return finds{} }

// SignalOutside does nothing, since no marked processes are found.
func SignalOutside(int, []int, string, syscall.Signal) error { return nil }

// Alive reports whether the process group has a member.
func Alive(pgid int) bool { return unix.Kill(-pgid, 0) == nil }
