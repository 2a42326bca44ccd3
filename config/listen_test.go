package config

import (
	"fmt"
	"strings"
	"testing"
)

// An API that everybody on the network can use is refused unless the operator allows it by a setting.
func TestAnOpenAPIIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"http: {listen: '127.0.0.1:81'}":                                                         "",
		"http: {listen: '[::1]:81'}":                                                             "",
		"http: {listen: 'localhost:81'}":                                                         "",
		"http: {listen: '0.0.0.0:81'}":                                                           "is not a loopback address",
		"http: {listen: ':81'}":                                                                  "is not a loopback address",
		"http: {listen: '10.0.0.1:81'}\nauth: {mode: observe, file: /f}":                         "is not a loopback address",
		"http: {listen: '10.0.0.1:81'}\nauth: {mode: required, file: /f}":                        "",
		"http: {listen: '10.0.0.1:81', tls: {cert: /c, key: /k, client_ca: /a}}":                 "",
		"http: {listen: '10.0.0.1:81'}\ninsecure: true":                                          "",
		"http: {listen: '10.0.0.1:81', tls: {cert: /c, key: /k, client_ca: /a, optional: true}}": "is not a loopback address",
		"http: {listen: '10.0.0.1:81', tls: {cert: /c, key: /k, client_ca: /a, optional: true}}\nauth: {mode: required, file: /f}": "",
		"auth: {mode: required}": "auth.file is needed",
		"auth: {mode: maybe}":    "maybe",
	} {
		_, err := load(t, "node: {name: q1}\n"+text+"\n", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TLS that is optional needs certificates, and allows plain URLs of the embedded etcd beside them.
func TestOptionalTLS(t *testing.T) {
	const files = "tls: {cert: /c, key: /k, ca: /a, optional: %t}"
	for text, want := range map[string]string{
		"http: {tls: {optional: true}}":                                                   "http.tls.optional is given without http.tls.cert",
		"http: {tls: {cert: /c, key: /k, optional: true}}":                                "",
		"etcd: {embedded: {tls: {optional: true}}}":                                       "etcd.embedded.tls.optional is given without a certificate",
		"etcd: {embedded: {" + fmt.Sprintf(files, true) + "}}":                            "",
		"etcd: {embedded: {" + fmt.Sprintf(files, false) + "}}":                           "is plain although etcd.embedded.tls is given",
		"etcd: {embedded: {client: 'https://q1:2379', " + fmt.Sprintf(files, true) + "}}": "",
	} {
		_, err := load(t, "node: {name: q1}\n"+text+"\n", nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
