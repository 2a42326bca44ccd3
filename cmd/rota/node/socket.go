package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/config"
)

// maxSocketPath is the longest path of a Unix socket, in bytes.
const maxSocketPath = 107

// listenSocket listens on the Unix socket of the settings. It returns nil if there is none. The lock of the data directory must be
// held: then a socket that is left there belongs to no process.
func (n *Node) listenSocket() (net.Listener, error) {
	path := n.set.HTTP.Socket
	switch {
	case path == config.SocketOff:
		return nil, nil
	case path != "":
	case len(filepath.Join(n.set.Node.DataDir, socketName)) > maxSocketPath:
		n.log.Info("no Unix socket is opened: its path would be too long; set http.socket", "data_dir", n.set.Node.DataDir)
		return nil, nil
	default:
		path = filepath.Join(n.set.Node.DataDir, socketName)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, failure.Config(fmt.Errorf("open http.socket: %s is no socket: remove it, or choose another path", path))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failure.Config(fmt.Errorf("open http.socket: %w", err))
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, failure.Config(fmt.Errorf("open http.socket: %w", err))
	}
	if err := os.Chmod(path, 0o600); err != nil { // besides, the API checks the user of each connection
		return nil, errors.Join(fmt.Errorf("open http.socket: %w", err), ln.Close())
	}
	return ln, nil
}

// socketName is the name of the Unix socket in the data directory.
const socketName = "api.sock"

// advertised returns the address at which other processes reach the API. It is the address of the settings. If the settings leave
// the port open, it has the port of the listener.
func advertised(set config.HTTP, listening net.Addr) string {
	host, port, err := net.SplitHostPort(set.Advertise)
	if err != nil || host == "" {
		return listening.String()
	}
	if _, found, err := net.SplitHostPort(listening.String()); err == nil && port == "0" {
		port = found
	}
	return net.JoinHostPort(host, port)
}
