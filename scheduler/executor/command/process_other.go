//go:build unix && !linux

package command

import "syscall"

// attributes sets no parent-death signal, since other systems have none. Programs survive the worker's death there.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the program has exited, and reads its exit status.
func (p *process) awaitExit() { p.cmd.Wait() }

// zombie returns false, since awaitExit reaps.
func (p *process) zombie() bool { return false }

func (p *process) reap() {}
