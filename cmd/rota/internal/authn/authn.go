package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// poll is how often the file is looked at. A token that was removed is refused after as long.
const poll = 500 * time.Millisecond

// Authenticator is safe for concurrent use.
type Authenticator struct {
	path string
	now  func() time.Time
	log  hclog.Logger

	known atomic.Pointer[auth.Directory]
	state fileState // of the file that was read last; Follow owns it
}

// fileState changes when a file does.
type fileState struct {
	modified time.Time
	size     int64
	err      string
}

// Open reads the file. Run follows it.
func Open(path string, now func() time.Time, log hclog.Logger) (*Authenticator, error) {
	a := &Authenticator{path: path, now: now, log: log, state: stateOf(path)}
	file, err := config.LoadAuth(path)
	if err != nil {
		return nil, fmt.Errorf("read auth.file: %w", err)
	}
	a.known.Store(&auth.Directory{File: file})
	return a, nil
}

// Run takes changes of the file up until ctx ends.
func (a *Authenticator) Run(ctx context.Context) error {
	loop.Every(ctx, poll, func(context.Context) {
		if state := stateOf(a.path); state != a.state {
			a.state = state
			a.reload()
		}
	})
	return nil
}

func (a *Authenticator) reload() {
	file, err := config.LoadAuth(a.path)
	if err != nil {
		a.log.Error("auth.file has mistakes: the last good one stays in force", "path", a.path, "err", err)
		return
	}
	a.known.Store(&auth.Directory{File: file})
	a.log.Info("auth.file was read", "path", a.path, "tokens", len(file.Tokens), "bindings", len(file.Bindings))
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{err: err.Error()}
	}
	return fileState{modified: info.ModTime(), size: info.Size()}
}

var errTwo = errors.New("token and certificate name different principals")

// Authenticate returns the caller that a request proves: by its token, by its certificate, or anonymous. If both are there, they
// have to name the same principal, unless the certificate names none.
func (a *Authenticator) Authenticate(r *http.Request) (auth.Caller, error) {
	known := a.known.Load()
	var byCertificate auth.Caller
	var certificateErr error
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		byCertificate, certificateErr = known.ByCertificate(r.TLS.PeerCertificates[0])
	}
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		if r.Header.Get("Authorization") != "" {
			return auth.Caller{}, auth.ErrToken
		}
		return byCertificate, certificateErr
	}
	byToken, err := known.ByToken(text, a.now())
	switch {
	case err != nil:
		return auth.Caller{}, err
	case !byCertificate.Anonymous() && !byCertificate.Peer() && byCertificate.Principal != byToken.Principal:
		return auth.Caller{}, errTwo
	}
	return byToken, nil
}
