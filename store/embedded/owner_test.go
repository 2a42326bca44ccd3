package embedded

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// A disk that was cloned has the identity of the machine that it comes from. A member with another's identity would vote for it.
func TestAMemberRefusesTheDataOfAnother(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	for _, s := range startAll(t, cfgs) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	clone := cfgs[1]
	clone.Dir = t.TempDir()
	if err := os.CopyFS(clone.Dir, os.DirFS(cfgs[0].Dir)); err != nil {
		t.Fatal(err)
	}
	_, err := tryStart(t, clone)
	if !errors.Is(err, ErrOwner) || !strings.Contains(err.Error(), cfgs[0].Name+", and this is "+clone.Name) {
		t.Errorf("with the data of another member: got %v", err)
	}
	for _, cfg := range cfgs {
		if err := cfg.checkOwner(); err != nil {
			t.Errorf("%s with its own data: %v", cfg.Name, err)
		}
	}
	renamed := cfgs[0]
	renamed.Name, renamed.Cluster = "new", strings.Replace(renamed.Cluster, renamed.Name+"=", "new=", 1)
	if err := renamed.checkOwner(); err != nil {
		t.Errorf("a member with a new name: %v", err)
	}
	if m := storedMember(t.TempDir()); m != nil {
		t.Errorf("without data: got %v", m)
	}
}
