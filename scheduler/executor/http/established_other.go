//go:build !linux

package httpx

import "net"

// canCheck says that established cannot answer, so connections are not opened ahead.
const canCheck = false

func established(net.Conn) bool { return false }

// acknowledged cannot answer, so no response is awaited after the end of an attempt.
func acknowledged(net.Conn) bool { return false }
