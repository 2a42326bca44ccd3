package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// hintVersions is the hint if this command and the cluster do not know the same requests.
const hintVersions = "use a rota of the version of the cluster: `rota version --cluster` lists the versions"

// answerHint returns the hint for an error of a request to the cluster; "" if there is none.
func answerHint(err error) string {
	if none, ok := errors.AsType[*client.Unreachable](err); ok {
		return unreachableHint(none)
	}
	answer, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return ""
	case rejectsToken(answer):
		return "ask an admin for another one, which `rota token create` makes, and name it with --token-file or ROTA_TOKEN_FILE"
	case answer.Status == http.StatusUnauthorized:
		return "name a token with --token-file or ROTA_TOKEN_FILE, or sign in with `rota login`"
	case answer.Foreign && answer.Status == http.StatusBadRequest && strings.HasPrefix(answer.Server, "http://"):
		return "if it has TLS, name it with https://; on its host, name its settings with ROTA_CONFIG, such as /etc/rota/rota.yaml"
	case answer.Unknown, slices.ContainsFunc(answer.Fields, unknownField):
		return hintVersions
	case errors.Is(answer, job.ErrFull):
		return "`rota status` says how full it is; docs/how-to/recover-a-full-store.md has the steps"
	case answer.RetryAfter > 0 && answer.Status != http.StatusTooManyRequests:
		return fmt.Sprintf("try again in %s; `rota status` says what is wrong", answer.RetryAfter)
	case answer.RetryAfter > 0:
		return fmt.Sprintf("try again in %s", answer.RetryAfter)
	}
	return ""
}

func unreachableHint(none *client.Unreachable) string {
	switch err := none.Err; {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start one with `rota dev`, or name one with --server"
	case expired(err):
		return "docs/how-to/renew-certificates.md has the steps"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "name the authority of its certificate with --cacert, or the settings on its host with ROTA_CONFIG"
	case certificateRefused.MatchString(err.Error()):
		return "name a certificate that it accepts with --cert and --cert-key, or the settings on its host with ROTA_CONFIG"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it has no TLS: name it with http://"
	case errors.As(err, new(x509.HostnameError)):
		return "name it as its certificate does, or issue a certificate for this name: `rota pki issue --host`"
	case closedEarly(none):
		return "if it wants a certificate, name yours with --cert and --cert-key; its log has the reason"
	}
	return fmt.Sprintf("probe it with `rota health --server %s`, or name another one with --server", none.Servers[0])
}

// expired reports whether the certificate of the server has ended, or is not valid yet.
func expired(err error) bool {
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	return ok && invalid.Reason == x509.Expired
}

// certificateRefused matches the error if the server refuses this client's certificate, or wants one. Go has no type for it.
var certificateRefused = regexp.MustCompile(`remote error: tls: .*certificate`)

// closedEarly reports whether a server with TLS closed the connection before it had the request. One that wants a certificate does
// so, and its answer that says so is often lost.
func closedEarly(err *client.Unreachable) bool {
	broken, ok := errors.AsType[*net.OpError](err.Err)
	// The error of Go's HTTP/2 has no type.
	early := ok && broken.Op == "write" || strings.Contains(err.Err.Error(), "http2: client conn could not be established")
	return early && strings.HasPrefix(err.Servers[0], "https://")
}

// rejectsToken reports whether a server answered that the token proves nobody.
func rejectsToken(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return ok && answer.Status == http.StatusUnauthorized && answer.Token
}

// unknownField reports whether a server refused a field of a request because it does not know it.
func unknownField(f client.Field) bool {
	return strings.Contains(f.Message, "unexpected property") || strings.Contains(f.Message, "unknown")
}

// withoutGo replaces words of Go's library.
func withoutGo(msg string) string {
	return strings.ReplaceAll(msg, context.DeadlineExceeded.Error(), "no answer in time")
}
