package config

import (
	"strings"
	"testing"
)

// The client of etcd uses TLS for all endpoints or for none, so a mixture would be plain or have unusable members. A member of a
// secure cluster would send its records to a plain one.
func TestPlainAndSecureMembersDoNotMix(t *testing.T) {
	const member = "node: {name: q1}\netcd:\n  embedded:\n    client: https://q1:2379\n    peer: https://q1:2380\n" +
		"    tls: {cert: /c, key: /k, ca: /ca}\n    cluster: q1=https://q1:2380,q2="
	for text, want := range map[string]string{
		"node: {name: q1}\netcd: {endpoints: [https://e1:2379, http://e2:2379]}\n":  "has both http:// and https://",
		"node: {name: q1}\netcd: {endpoints: [http://e1:2379, https://e2:2379]}\n":  "has both http:// and https://",
		"node: {name: q1}\netcd: {endpoints: [https://e1:2379, https://e2:2379]}\n": "",
		member + "http://q2:2380\n":  `"http://q2:2380" is plain`,
		member + "https://q2:2380\n": "",
		strings.Replace(member, "ca: /ca", "ca: /ca, optional: true", 1) + "http://q2:2380\n": "",
	} {
		_, err := load(t, text, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
