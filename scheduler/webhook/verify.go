package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The headers of a delivery.
const (
	IDHeader        = standardwebhooks.HeaderWebhookID
	TimestampHeader = standardwebhooks.HeaderWebhookTimestamp
	SignatureHeader = standardwebhooks.HeaderWebhookSignature
)

const (
	// Tolerance is how far the time of a delivery may be from the present, in both directions.
	Tolerance = 5 * time.Minute
	// MaxID is the largest number of bytes in the id of a delivery.
	MaxID = 128
	// minSecret is the least number of bytes in a secret. Standard Webhooks recommends 24.
	minSecret = 16
)

// Refusal says why a delivery is refused. Nothing was stored for it.
type Refusal struct {
	Status int // of the answer
	Reason string
}

func (e *Refusal) Error() string { return e.Reason }

func refuse(status int, format string, args ...any) error {
	return &Refusal{status, fmt.Sprintf(format, args...)}
}

// ErrSecret is returned by Verify for a secret that can verify nothing. The delivery may be correct.
var ErrSecret = errors.New("secret of the hook is not usable")

// Verify checks the headers of a delivery and its signature, and returns its id. secret is base64, and may begin with whsec_. Any
// one of several signatures may match, so that a sender can change its secret. The error is a *Refusal or ErrSecret.
//
// Verify checks the signature before the time, so that only the sender learns that its clock is wrong.
func Verify(secret string, header http.Header, body []byte, now time.Time) (id string, err error) {
	given := map[string]string{}
	for _, name := range []string{IDHeader, TimestampHeader, SignatureHeader} {
		switch values := header.Values(name); {
		case len(values) == 0 || values[0] == "":
			return "", refuse(http.StatusBadRequest, "the header %s is missing: sign the request as Standard Webhooks says", name)
		case len(values) > 1:
			return "", refuse(http.StatusBadRequest, "the header %s is given twice", name)
		default:
			given[name] = values[0]
		}
	}
	if err := checkID(given[IDHeader]); err != nil {
		return "", err
	}
	at, err := strconv.ParseInt(given[TimestampHeader], 10, 64)
	if err != nil || at < 0 {
		return "", refuse(http.StatusBadRequest, "the header %s is no time: write whole seconds since 1970", TimestampHeader)
	}
	key, err := key(secret)
	if err != nil {
		return "", err
	}
	hook, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return "", ErrSecret
	}
	if hook.VerifyIgnoringTimestamp(body, header) != nil {
		return "", refuse(http.StatusUnauthorized, "the signature is wrong: no part of %s matches the id, the time and the body",
			SignatureHeader)
	}
	switch age := now.Sub(time.Unix(at, 0)); {
	case age > Tolerance:
		return "", refuse(http.StatusForbidden, "the delivery is %s old, and at most %s are accepted: sign it again, with the same id",
			age.Round(time.Second), Tolerance)
	case age < -Tolerance:
		return "", refuse(http.StatusForbidden, "the delivery is %s ahead, and at most %s are accepted: correct the sender's clock",
			(-age).Round(time.Second), Tolerance)
	}
	return given[IDHeader], nil
}

// checkID returns an error for an id that cannot be part of a key. A full stop separates the signed parts, so an id with one could
// stand for another delivery.
func checkID(id string) error {
	if len(id) > MaxID {
		return refuse(http.StatusBadRequest, "the header %s has %d bytes, at most %d are allowed", IDHeader, len(id), MaxID)
	}
	if strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '.' }) {
		return refuse(http.StatusBadRequest, "the header %s has a bad character: use printable ASCII without spaces and full stops",
			IDHeader)
	}
	return nil
}

// key returns the key of a secret. The error does not contain the secret.
func key(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(secret), "whsec_"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it is not base64", ErrSecret)
	case len(key) < minSecret:
		return nil, fmt.Errorf("%w: it has %d bytes, and at least %d are needed", ErrSecret, len(key), minSecret)
	}
	return key, nil
}
