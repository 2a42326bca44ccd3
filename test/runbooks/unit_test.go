package runbooks

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// These are values of the units in deploy/systemd.
const (
	restartPause  = time.Second
	stopTimeout   = 55 * time.Second
	wrongSettings = 78 // RestartPreventExitStatus
)

// systemctl is the script of that name. Its units are processes that play systemd: see supervise.
const systemctl = `#!/bin/sh
# systemctl start|stop|restart|reload|enable|disable|kill|is-active [--no-block] UNIT
verb=$1 block=yes; shift
for arg; do case $arg in --no-block) block= ;; -*) ;; *) unit=${arg%.service} ;; esac; done
pid=/var/log/$unit.pid ready=/var/log/$unit.ready
alive() { [ -e $pid ] && kill -0 "$(cat $pid)" 2>/dev/null; }
case $verb in
start)
	if ! alive; then
		case $unit in
		rota) set -- rota serve --config /etc/rota/rota.yaml ;;
		rota-worker) set -- rota worker --config /etc/rota/worker.yaml ;;
		etcd) set -- etcd --config-file /etc/etcd/etcd.yaml ;;
		*) echo "systemctl: unit $unit not found" >&2; exit 5 ;;
		esac
		rm -f $ready
		setsid env ` + unitVariable + `=$unit @SELF@ "$@" >>/var/log/$unit.log 2>&1 </dev/null &
		echo $! >$pid
	fi
	while [ -n "$block" ] && ! [ -e $ready ]; do
		alive || { echo "systemctl: $unit failed: see journalctl -u $unit" >&2; exit 1; }
		sleep 0.1
	done ;;
stop)
	! alive || kill -TERM "$(cat $pid)"
	while alive; do sleep 0.1; done ;;
enable) ;; # no host boots in a test
disable) exec "$0" stop $unit ;; # pages use --now
restart) "$0" stop $unit; if [ -n "$block" ]; then exec "$0" start $unit; else exec "$0" start --no-block $unit; fi ;;
reload) # as with Type=notify-reload, it returns when the program is ready again
	rm -f $ready
	kill -HUP "$(cat $pid)"
	until [ -e $ready ]; do sleep 0.1; done ;;
kill)
	kill -s KILL -- -"$(cat $pid)"
	while alive; do sleep 0.1; done ;;
is-active) alive ;;
*) echo "systemctl: unknown command $verb" >&2; exit 1 ;;
esac
`

// supervise plays systemd for one unit: Type=notify-reload, Restart=always. The file UNIT.ready exists while the program is ready.
func supervise(unit string, argv []string) int {
	ready, socket := "/var/log/"+unit+".ready", "/var/log/"+unit+".notify"
	_ = os.Remove(socket) // of a supervisor that was killed
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	go func() { // ends with the process
		for buf := make([]byte, 4096); ; {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if strings.Contains(string(buf[:n]), "READY=1") {
				_ = os.WriteFile(ready, nil, 0o600)
			}
		}
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	for {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+socket)
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		stopped := follow(cmd, signals, ended)
		_ = os.Remove(ready)
		code := cmd.ProcessState.ExitCode()
		if stopped || code == wrongSettings {
			return code
		}
		fmt.Fprintf(os.Stderr, "unit %s: exit code %d, restarts\n", unit, code)
		select {
		case <-signals:
			return 0
		case <-time.After(restartPause):
		}
	}
}

// follow passes signals to a program until it has ended. stopped reports whether it was asked to stop.
func follow(cmd *exec.Cmd, signals <-chan os.Signal, ended <-chan struct{}) (stopped bool) {
	var kill <-chan time.Time
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended
			if s == syscall.SIGTERM {
				stopped, kill = true, time.After(stopTimeout)
			}
		case <-kill:
			_ = cmd.Process.Kill()
		case <-ended:
			return stopped
		}
	}
}
