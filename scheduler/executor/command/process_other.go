//go:build unix && !linux

package command

import (
	"syscall"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// attributes sets no parent-death signal, since other systems have none. On these systems, programs survive the worker's death.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the program has exited, and reads its exit status.
func (p *process) awaitExit() { p.cmd.Wait() }

// zombie returns false, since awaitExit reaps.
func (p *process) zombie() bool { return false }

func (p *process) reap() {}

// listen opens no socket, since other systems have no sd_notify. Only output reports progress there.
func listen(*executor.Request) (address string, stop func(), err error) { return "", func() {}, nil }
