package command

import (
	"os/user"
	"slices"
	"testing"
)

// A line of /etc/passwd may have no directory. With an empty HOME, programs such as git and ssh fail.
func TestAUserWithoutAHomeHasTheRoot(t *testing.T) {
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	account.HomeDir = ""
	u := &User{home: "/"}
	if err := u.fill(account); err != nil {
		t.Fatal(err)
	}
	if env := u.environ(nil); !slices.Contains(env, "HOME=/") {
		t.Errorf("got %q, want HOME=/", env)
	}
}
