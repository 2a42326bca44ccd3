package command

import (
	"bytes"
	"fmt"
	"net"
	"sync"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// listen opens the socket of NOTIFY_SOCKET. Every WATCHDOG=1 that arrives there reports progress, as with systemd: see
// sd_notify(3). The socket has no file, since it is in the abstract namespace of this process's network namespace. stop closes
// it.
func listen(req *executor.Request) (address string, stop func(), err error) {
	address = "@rota/" + req.Mark
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return "", nil, fmt.Errorf("open socket for heartbeats: %w", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { receive(conn, req.Progress) })
	return address, func() {
		_ = conn.Close()
		wg.Wait()
	}, nil
}

// receive reads messages until the socket is closed. systemd-notify sends a file descriptor and waits until it is closed. The
// kernel closes it, since Read does not accept descriptors.
func receive(conn net.Conn, progress func()) {
	message := make([]byte, 4096)
	for {
		n, err := conn.Read(message)
		if err != nil {
			return
		}
		for line := range bytes.SplitSeq(message[:n], []byte("\n")) {
			if string(line) == "WATCHDOG=1" {
				progress()
			}
		}
	}
}
