package httpx

import (
	"net"
	"net/http/httptrace"
	"testing"
)

// TestAConnectionThatComesTooLateCarriesNothing has a connection ready for a request whose attempt was given up just before.
func TestAConnectionThatComesTooLateCarriesNothing(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	var w wire
	w.cut()
	w.got(httptrace.GotConnInfo{Conn: near})
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("the request could be written")
	}
}
