package credentials

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Update changes a file of credentials. Updates of several processes run one after the other. If change returns an error, the file
// is not written.
func Update(path string, change func(f *File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock credentials: %w", err)
	}
	defer lock.Close() // unlocks it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock credentials: %w", err)
	}
	f, err := Load(path)
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return err
	}
	return f.Save(path)
}

// Put makes e the entry of a server, in place of any other one.
func (f *File) Put(server string, e Entry) {
	f.Remove(server)
	if f.Servers == nil {
		f.Servers = map[string]Entry{}
	}
	f.Servers[Origin(server)] = e
}

// Remove removes the entry of a server.
func (f *File) Remove(server string) {
	for name := range f.Servers {
		if Origin(name) == Origin(server) {
			delete(f.Servers, name)
		}
	}
}

// Renewed replaces the sign-in old by next at each server. The provider may accept the refresh token of old only once.
func (f *File) Renewed(old, next OpenID) {
	for name, e := range f.Servers {
		if e.OpenID != nil && e.OpenID.Refresh == old.Refresh && e.OpenID.Issuer == old.Issuer {
			f.Servers[name] = Entry{OpenID: &next}
		}
	}
}
