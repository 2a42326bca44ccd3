package httpx

import (
	"net"
	"testing"
)

// TestALateConnectionIsClosed gives a connection to a request that was discarded just before.
func TestALateConnectionIsClosed(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	var c connection
	c.discard()
	c.use(near)
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("the request could be written")
	}
}
