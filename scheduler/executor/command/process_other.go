//go:build unix && !linux

package command

import "syscall"

// attributes: other systems have no parent-death signal. What the worker's own death leaves behind goes on.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the program has exited, and takes its exit status.
func (p *process) awaitExit() { p.cmd.Wait() }

// zombie: awaitExit reaps.
func (p *process) zombie() bool { return false }

func (p *process) reap() {}
