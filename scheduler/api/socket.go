package api

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/user"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

type socketKey struct{}

// socketPeer is the process at the other end of a Unix socket.
type socketPeer struct {
	user string // name of its operating-system user; empty if that user has no rights here
}

// withPeer is the ConnContext of an http.Server. For a connection on a Unix socket, it records the user at the other end.
func withPeer(ctx context.Context, conn net.Conn) context.Context {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	return context.WithValue(ctx, socketKey{}, socketPeer{user: admitted(c, os.Geteuid())})
}

// admitted returns the name of the user at the other end of a connection. It is empty unless that user is own, the user of this
// process, or root.
func admitted(c *net.UnixConn, own int) string {
	uid, err := peerOf(c)
	if err != nil || uid != own && uid != 0 {
		return ""
	}
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "uid " + number
}

// bySocket returns the caller of a request that came over a Unix socket without any other proof.
func bySocket(r *http.Request) (auth.Caller, bool) {
	peer, _ := r.Context().Value(socketKey{}).(socketPeer)
	if peer.user == "" || r.Header.Get("Authorization") != "" {
		return auth.Caller{}, false
	}
	return new(auth.Directory).ByUser(peer.user), true
}

// showSocket replaces the address of a client, which has none on a Unix socket, by a word for records.
func showSocket(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Context().Value(socketKey{}).(socketPeer); ok {
			r.RemoteAddr = "socket"
		}
		next.ServeHTTP(w, r)
	})
}
