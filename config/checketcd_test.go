package config

import (
	"strings"
	"testing"
)

// The list of members may be written over several lines, and its URLs may end in a slash.
func TestAListOfMembersMayHaveSpaces(t *testing.T) {
	const text = "node: {name: q1}\netcd:\n  embedded:\n    peer: %s\n    cluster: >-\n" +
		"      q1=http://q1:2380,\n      q2 = http://q2:2380/\n"
	for _, peer := range []string{"http://q1:2380", "http://q1:2380/"} {
		if _, err := load(t, strings.Replace(text, "%s", peer, 1), nil); err != nil {
			t.Errorf("peer %s: %v", peer, err)
		}
	}
}

func TestAnAddressIsUsedOnce(t *testing.T) {
	_, err := load(t, "node: {name: q1}\nhttp: {listen: 127.0.0.1:1}\netcd: {embedded: {client: 'http://127.0.0.1:1'}}\n", nil)
	if err == nil || !strings.Contains(err.Error(), `"http://127.0.0.1:1" is also the address of http.listen`) {
		t.Errorf("the API and etcd: got %v", err)
	}
	_, err = load(t, "node: {name: q1}\netcd: {embedded: {client: 'http://127.0.0.1:1', peer: 'http://127.0.0.1:1', "+
		"cluster: 'q1=http://127.0.0.1:1'}}\n", nil)
	if err == nil || !strings.Contains(err.Error(), "is also the address of etcd.embedded.client") {
		t.Errorf("etcd twice: got %v", err)
	}
}
