package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// How long a browser stays signed in, and how long a one-time code may be used.
const (
	SessionLife = 8 * time.Hour
	SessionIdle = 30 * time.Minute // without a request
	CodeLife    = 5 * time.Minute
	// TouchEvery is how often the use of a session is recorded.
	TouchEvery = 5 * time.Minute
)

// Errors of sessions and codes. The client gets the same answer for all of them.
var (
	ErrSession        = errors.New("session is unknown or was ended")
	ErrSessionExpired = errors.New("session has expired")
	ErrCode           = errors.New("code is unknown, was used, or has expired")
)

// Session is the stored record of a browser that signed in. The record of a one-time code has the same form: it says who is
// signed in by the code.
type Session struct {
	Principal string    `json:"principal"`
	Groups    []string  `json:"groups,omitempty"`
	How       Method    `json:"how"`             // how the principal was proven before the session began
	Token     string    `json:"token,omitempty"` // id of the token that proved the principal; the session ends with it
	Created   time.Time `json:"created"`
	Used      time.Time `json:"used"` // of the last recorded use
	Expires   time.Time `json:"expires"`
	// Ends is the end of the session that made this code. The session that the code begins does not outlive it. Zero: no session
	// made the code.
	Ends time.Time `json:"ends,omitzero"`
}

// NewSession returns the record of a session, or of a code, that a caller begins at now.
func NewSession(c Caller, now time.Time, life time.Duration) Session {
	now = now.UTC().Truncate(time.Second)
	s := Session{
		Principal: c.Principal, Groups: c.Groups, How: c.Method, Token: c.Token,
		Created: now, Used: now, Expires: now.Add(life),
	}
	if c.Method == BySession {
		s.How, s.Ends = c.origin, c.ends
	}
	return s
}

// Begin returns the record of the session that a browser begins at now with a code. s is the record of the code.
func (s Session) Begin(now time.Time) Session {
	now = now.UTC().Truncate(time.Second)
	s.Created, s.Used, s.Expires = now, now, now.Add(SessionLife)
	if !s.Ends.IsZero() && s.Ends.Before(s.Expires) {
		s.Expires = s.Ends
	}
	return s
}

// Expired reports whether the session has ended at now, by its age or because nobody used it.
func (s *Session) Expired(now time.Time) bool {
	return !now.Before(s.Expires) || now.Sub(s.Used) > SessionIdle
}

// BySession returns the caller whose browser signed in. The error is ErrSessionExpired, or that of the token that began the
// session.
func (d *Directory) BySession(s *Session, now time.Time) (Caller, error) {
	if s.Expired(now) {
		return Caller{}, ErrSessionExpired
	}
	who := Identity{Principal: s.Principal, Groups: s.Groups, Method: BySession, Token: s.Token, origin: s.How, ends: s.Expires}
	switch s.How {
	case ByOIDC:
		if !d.OpenID {
			return Caller{}, ErrSession
		}
	case BySocket:
		return Caller{who, d.ByUser(s.Principal).Grants}, nil
	case ByToken:
		token, err := d.token(s.Token)
		switch {
		case err != nil:
			return Caller{}, err
		case token == nil || token.Principal != s.Principal:
			return Caller{}, ErrUnknown
		case token.Expired(now):
			return Caller{}, ErrExpired
		}
		who.Groups = token.Groups
		return Caller{who, GrantsOf(who, d.File.Bindings, token)}, nil
	}
	return Caller{who, GrantsOf(who, d.File.Bindings, nil)}, nil
}

// Key is the secret of a session or of a code. The store has only its hash.
type Key string

// Format implements fmt.Formatter, so that no log line shows a key.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, sealed) }

// MarshalText implements encoding.TextMarshaler, which JSON uses too.
func (Key) MarshalText() ([]byte, error) { return []byte(sealed), nil }

const (
	keyBytes  = 32 // 256 random bits
	keyLength = 43 // in base64 without padding
)

// NewKey makes a key from random bytes. It returns an error if the reader random fails.
func NewKey(random io.Reader) (Key, error) {
	var raw [keyBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("make session key: %w", err)
	}
	return Key(base64.RawURLEncoding.EncodeToString(raw[:])), nil
}

// Hash returns the name of the key's record in the store. ok is false if the text has not the form of a key.
func (k Key) Hash() (name string, ok bool) {
	if len(k) != keyLength {
		return "", false
	}
	sum := sha256.Sum256([]byte(k))
	return hex.EncodeToString(sum[:]), true
}
