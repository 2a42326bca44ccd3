package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"
	"time"
)

// The parts of a token: rota_<id>_<secret>_<checksum>. Scanners for leaked secrets recognise this form.
const (
	tokenPrefix  = "rota"
	idLength     = 12
	secretBytes  = 32 // 256 random bits, so a slow hash is not needed
	secretLength = 43 // number of characters of the secret in base 62
	crcLength    = 6
)

// ErrToken is returned for a text that is not a token of rota. The error does not contain the text.
var ErrToken = errors.New("token is malformed: it does not have the form rota_<id>_<secret>_<checksum>")

// Token is the stored record of a token. It has a hash of the secret. The secret itself is not stored anywhere.
type Token struct {
	ID        string    `json:"id"`
	Hash      string    `json:"sha256"` // hash of the secret, in hexadecimal
	Principal string    `json:"principal"`
	Groups    []string  `json:"groups,omitempty"`
	Role      Role      `json:"role,omitempty"` // in addition to the roles of the principal's bindings; empty: none
	Jobs      []string  `json:"jobs,omitempty"` // the scope of Role, as in Binding
	Created   time.Time `json:"created,omitzero"`
	By        string    `json:"by,omitempty"`     // the principal that created it
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	Note      string    `json:"note,omitempty"`

	Granted *time.Time `json:"granted,omitempty"` // Expires before a rotation shortened it; nil: it was not rotated
}

// Expired reports whether the token is no longer valid at now.
func (t *Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Rotate replaces the token by next, which has only an id, a hash, a creator and the time of its creation. It returns the token,
// which is valid for overlap longer, and the new token with the same rights and the same life. A token can be rotated again, for
// example because the first answer was lost: all new tokens have the same life.
func (t Token) Rotate(next Token, overlap time.Duration) (old, rotated Token) {
	granted := t.Expires
	if t.Granted != nil {
		granted = *t.Granted
	}
	rotated = t
	rotated.ID, rotated.Hash, rotated.Created, rotated.By = next.ID, next.Hash, next.Created, next.By
	rotated.Expires, rotated.Granted = time.Time{}, nil
	if !granted.IsZero() {
		rotated.Expires = next.Created.Add(granted.Sub(t.Created))
	}
	if end := next.Created.Add(overlap); t.Expires.IsZero() || end.Before(t.Expires) {
		t.Expires, t.Granted = end, &granted
	}
	return t, rotated
}

// Identity returns the identity that the token proves.
func (t *Token) Identity() Identity {
	return Identity{Principal: t.Principal, Groups: t.Groups, Method: ByToken, Token: t.ID}
}

// Secret is the complete token: a new one, or one that a client sent.
type Secret struct {
	ID     string
	secret Sealed
}

// NewSecret makes a token from random bytes. It returns an error if the reader random fails.
func NewSecret(random io.Reader) (Secret, error) {
	var raw [secretBytes + idLength]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Secret{}, fmt.Errorf("make token: %w", err)
	}
	id := make([]byte, idLength)
	for i, b := range raw[secretBytes:] {
		id[i] = idAlphabet[int(b)%len(idAlphabet)]
	}
	return Secret{ID: string(id), secret: Seal(base62(raw[:secretBytes], secretLength))}, nil
}

// idAlphabet has 32 characters, so each random byte selects one of them with equal probability.
const idAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"

// ParseSecret reads the text of a token. The error is ErrToken.
func ParseSecret(text string) (Secret, error) {
	prefix, rest, _ := strings.Cut(text, "_")
	id, rest, _ := strings.Cut(rest, "_")
	secret, sum, _ := strings.Cut(rest, "_")
	if prefix != tokenPrefix || len(id) != idLength || len(secret) != secretLength {
		return Secret{}, ErrToken
	}
	s := Secret{ID: id, secret: Seal(secret)}
	if want := s.checksum(); subtle.ConstantTimeCompare(want[:], []byte(sum)) != 1 {
		return Secret{}, ErrToken
	}
	return s, nil
}

// Text returns the complete token, which its owner keeps. It is a secret.
func (s Secret) Text() string {
	sum := s.checksum()
	return strings.Join([]string{tokenPrefix, s.ID, s.secret.Reveal(), string(sum[:])}, "_")
}

// String hides the secret, so that a log line cannot leak it.
func (s Secret) String() string { return tokenPrefix + "_" + s.ID + "_…" }

// Hash returns the hash of the secret, which is stored instead of the secret.
func (s Secret) Hash() string {
	sum := sha256.Sum256([]byte(s.secret.Reveal()))
	return hex.EncodeToString(sum[:])
}

// Proves reports whether the secret belongs to a token. Its duration does not depend on the secret.
func (s Secret) Proves(t *Token) bool {
	sum := sha256.Sum256([]byte(s.secret.Reveal()))
	var want [sha256.Size]byte
	if len(t.Hash) == hex.EncodedLen(len(want)) {
		if _, err := hex.Decode(want[:], []byte(t.Hash)); err != nil {
			return false
		}
	}
	return subtle.ConstantTimeCompare(sum[:], want[:]) == 1
}

// checksum returns what base62 returns for the checksum of the id and the secret. Each request needs it.
func (s Secret) checksum() (text [crcLength]byte) {
	var content [idLength + 1 + secretLength]byte
	sum := crc32.ChecksumIEEE(append(append(append(content[:0], s.ID...), '_'), s.secret.Reveal()...))
	for i := range text {
		text[crcLength-1-i] = digits62[sum%62]
		sum /= 62
	}
	return text
}

// digits62 are the digits of base 62 in the order of package big.
const digits62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// base62 writes bytes with letters and digits. It fills the text with zeros up to a length.
func base62(b []byte, length int) string {
	text := new(big.Int).SetBytes(b).Text(62)
	return strings.Repeat("0", max(0, length-len(text))) + text
}
