package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// User is the user of programs. A nil User is the user of the worker.
type User struct {
	Name string // as LookupUser got it
	UID  int
	GID  int

	groups []uint32 // supplementary groups
	login  string   // its name in the list of users; its number if the list lacks it
	home   string
}

// LookupUser finds a user of this machine. text is the name or the number of a user. A colon and the name or number of a group
// may follow, which replaces the user's primary group. A user that the machine does not know needs both numbers.
func LookupUser(text string) (*User, error) {
	name, group, grouped := strings.Cut(text, ":")
	u := &User{Name: text, login: name, home: "/"}
	number, err := strconv.ParseUint(name, 10, 31)
	numeric := err == nil
	account, err := user.Lookup(name)
	if numeric {
		account, err = user.LookupId(name)
	}
	switch {
	case err == nil:
		if err := u.fill(account); err != nil {
			return nil, err
		}
	case !numeric:
		return nil, fmt.Errorf("this machine has no user %s; write a name of /etc/passwd, or two numbers as user:group", name)
	case !grouped:
		return nil, fmt.Errorf("this machine has no user %s, so its group is unknown; "+
			"write %s:GROUP with the number of a group", name, name)
	default:
		u.UID = int(number)
	}
	if !grouped {
		return u, nil
	}
	if found, err := user.LookupGroup(group); err == nil {
		group = found.Gid
	}
	gid, err := strconv.ParseUint(group, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("this machine has no group %s; write a name of /etc/group, or a number", group)
	}
	u.groups = slices.DeleteFunc(u.groups, func(g uint32) bool { return int(g) == u.GID }) // the primary group, which is replaced
	u.GID = int(gid)
	return u, nil
}

// fill takes what the machine knows about a user.
func (u *User) fill(account *user.User) error {
	ids, err := account.GroupIds()
	if err != nil {
		return fmt.Errorf("list groups of user %s: %w", account.Username, err)
	}
	uid, uidErr := strconv.Atoi(account.Uid)
	gid, gidErr := strconv.Atoi(account.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return fmt.Errorf("read numbers of user %s: %w", account.Username, err)
	}
	u.UID, u.GID, u.login, u.home = uid, gid, account.Username, cmp.Or(account.HomeDir, u.home)
	for _, id := range ids {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return fmt.Errorf("read groups of user %s: %w", account.Username, err)
		}
		u.groups = append(u.groups, uint32(n))
	}
	return nil
}

// same reports whether programs run as the user of this process anyway.
func (u *User) same() bool { return u == nil || u.UID == os.Geteuid() && u.GID == os.Getegid() }

// environ returns the worker's environment with the variables that cron sets for a user.
func (u *User) environ(worker []string) []string {
	if u == nil {
		return worker
	}
	return append(slices.Clone(worker), "HOME="+u.home, "USER="+u.login, "LOGNAME="+u.login, "SHELL=/bin/sh")
}

// attributes adds the user to the attributes of a program.
func (u *User) attributes(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if !u.same() {
		attr.Credential = &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: u.groups}
	}
	return attr
}

// denied completes the text of an error: the user may lack a right that the worker has.
func (u *User) denied() string {
	if u.same() {
		return ""
	}
	return fmt.Sprintf(": user %s must be able to read and execute it and to enter its directories and the working directory", u.Name)
}

// own gives a file or directory to the user.
func (u *User) own(path string) error {
	if u.same() {
		return nil
	}
	if err := os.Chown(path, u.UID, u.GID); err != nil {
		return fmt.Errorf("give a file to user %s: %w", u.Name, err)
	}
	return nil
}

// Check returns why this process cannot run programs as the user, and what to do; nil if it can. A shortage, which may pass, is no
// reason.
func (u *User) Check() error {
	if u.same() {
		return nil
	}
	const hint = "start rota as root, or as a user with " +
		"CAP_SETUID, CAP_SETGID, CAP_KILL, CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_SYS_PTRACE"
	if err := u.tryStart(); err != nil && !isShortage(err) {
		return fmt.Errorf("this process may not start programs as user %s: %w; %s", u.Name, err, hint)
	}
	if missing := missingCapabilities(); len(missing) > 0 {
		return fmt.Errorf("this process cannot control programs of user %s without %s; %s", u.Name, strings.Join(missing, ", "), hint)
	}
	return nil
}

// CheckStart returns why this process can start no program now as its own user; nil if it can.
func CheckStart() error { return (*User)(nil).CheckStart() }

// CheckStart returns why no program of the user can be started now; nil if one can. A failed start alone does not show that: the
// job may have exhausted its own limits, or need more memory than other programs. The kernel limits the processes of each user.
// A user who has exactly as many as allowed may start a program, which then can start no other.
func (u *User) CheckStart() error {
	err := u.tryStart()
	switch {
	case !isShortage(err):
		return nil
	case u.same():
		return fmt.Errorf("no program can be started: %w", err)
	}
	return fmt.Errorf("no program of user %s can be started: %w", u.Name, err)
}

// tryStart starts a child that becomes the user, and then cannot execute a directory. It returns any other error of the kernel.
func (u *User) tryStart() error {
	err := (&exec.Cmd{Path: "/", SysProcAttr: u.attributes(&syscall.SysProcAttr{})}).Start()
	if errors.Is(err, syscall.EACCES) {
		return nil
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return err
}
