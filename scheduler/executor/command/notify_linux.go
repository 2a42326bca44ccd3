package command

import (
	"bytes"
	"fmt"
	"net"
	"sync"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// listen opens the socket that a program is told of by NOTIFY_SOCKET, and counts every WATCHDOG=1 that comes there as
// progress, as systemd does; see sd_notify(3). The socket has no file: it lies in the abstract namespace of this process's
// network. close ends it.
func listen(req *executor.Request) (address string, close func(), err error) {
	address = "@rota/" + req.Marker
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return "", nil, fmt.Errorf("open socket for heartbeats: %w", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { hear(conn, req.Progress) })
	return address, func() {
		conn.Close()
		wg.Wait()
	}, nil
}

// hear reads messages until the socket is closed. Descriptors that come with one are closed by the kernel, since nothing
// asks for them; systemd-notify waits for that.
func hear(conn net.Conn, progress func()) {
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
