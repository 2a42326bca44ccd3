package supervisor

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
)

// Supervisor sends messages to systemd, as sd_notify(3) defines them. Its methods may be called from any goroutine.
type Supervisor struct {
	log      hclog.Logger
	watchdog time.Duration // systemd kills this process if no beat arrives for so long; 0: it does not watch
}

// New returns the supervisor of this process. It reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
func New(log hclog.Logger) *Supervisor {
	s := &Supervisor{log: log}
	var err error
	if s.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		log.Warn("systemd's watchdog is not served, since its variables are wrong", "err", err)
	}
	return s
}

// Waiting reports what the start of the process waits for.
func (s *Supervisor) Waiting(what string) { s.send("STATUS=waiting for " + what) }

// Ready reports that the process has started, or has reloaded.
func (s *Supervisor) Ready() { s.send(daemon.SdNotifyReady + "\nSTATUS=ready") }

// Reloading reports that the process reloads. Ready ends the reload.
func (s *Supervisor) Reloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		s.log.Warn("the monotonic clock was not read", "err", err)
	}
	s.send(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
}

// Stopping reports that the process drains.
func (s *Supervisor) Stopping() { s.send(daemon.SdNotifyStopping + "\nSTATUS=draining") }

// Watch sends beats to systemd's watchdog until ctx ends, each after alive has returned nil. alive must return soon after its
// context ends. If alive fails or hangs for the time of the watchdog, systemd restarts the process.
func (s *Supervisor) Watch(ctx context.Context, alive func(context.Context) error) {
	if s.watchdog == 0 {
		return
	}
	pause := s.watchdog / beatsPerTimeout
	loop.Every(ctx, pause, func(ctx context.Context) {
		probe, cancel := context.WithTimeout(ctx, pause)
		defer cancel()
		switch err := alive(probe); {
		case err == nil:
			s.send(daemon.SdNotifyWatchdog)
		case ctx.Err() == nil:
			s.log.Error("the process does not make progress, so systemd's watchdog gets no beat", "err", err)
		}
	})
}

// beatsPerTimeout leaves room for a probe that lasts its whole time, and for one lost beat.
const beatsPerTimeout = 4

func (s *Supervisor) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd was not notified", "socket", os.Getenv("NOTIFY_SOCKET"), "err", err)
	}
}
