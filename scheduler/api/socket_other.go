//go:build !linux

package api

import (
	"errors"
	"net"
)

// peerOf fails: this system does not record the user at the other end of a Unix socket in a way that rota knows.
func peerOf(*net.UnixConn) (uid int, err error) { return 0, errors.ErrUnsupported }
