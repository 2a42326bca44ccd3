package network

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Each lab on this machine has a number, which determines its names and its subnet. The owner of a number has locked its file,
// and the kernel unlocks the file when the owner dies. So a dead owner left everything with an unlocked number.
const (
	numbers   = 250
	lockDir   = "/run/lock/rota-network"
	leaveTime = 10 * time.Second // the longest time for the processes of a host to end
	memory    = "/dev/shm"
	room      = 2 << 30 // bytes that a lab may need: every member of etcd reserves 128 MiB
)

func namespace(number int, host string) string { return fmt.Sprintf("rota%d-%s", number, host) }

// owned has the numbers of this process. It gives them back at an interrupt.
var owned struct {
	mu    sync.Mutex
	locks map[int]*os.File // guarded by mu
}

// take returns a number that belongs to this process until free is called. It first removes everything that dead owners left
// behind, of this number and of others.
func take() (number int, free func() error, err error) {
	if err := os.MkdirAll(lockDir, 0o700); err != nil {
		return 0, nil, fmt.Errorf("make directory of locks: %w", err)
	}
	releaseAtInterrupt()
	number = -1
	for n := range numbers {
		lock, err := tryLock(n)
		if err != nil {
			continue
		}
		if err := remove(n); err != nil {
			lock.Close()
			return 0, nil, err
		}
		if number >= 0 || subnetTaken(n) {
			lock.Close()
			continue
		}
		number = n
		owned.mu.Lock()
		if owned.locks == nil {
			owned.locks = make(map[int]*os.File)
		}
		owned.locks[n] = lock
		owned.mu.Unlock()
	}
	if number < 0 {
		return 0, nil, errors.New("no subnet 10.213.0.0/24 to 10.213.249.0/24 is free for a lab")
	}
	return number, func() error { return giveBack(number) }, nil
}

func tryLock(n int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(lockDir, strconv.Itoa(n)), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func giveBack(n int) error {
	owned.mu.Lock()
	defer owned.mu.Unlock()
	err := remove(n)
	owned.locks[n].Close()
	delete(owned.locks, n)
	return err
}

// remove ends everything that runs on the hosts of a lab, and deletes the hosts. The link to the test is deleted with the
// switch.
func remove(n int) error {
	names, err := filepath.Glob(filepath.Join("/run/netns", namespace(n, "*")))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range names {
		name := filepath.Base(path)
		// A poll with a deadline: processes that were killed leave the namespace some time later.
		for deadline := time.Now().Add(leaveTime); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			left := strings.Fields(inhabitants(name))
			if len(left) == 0 {
				break
			}
			for _, pid := range left {
				if pid, err := strconv.Atoi(pid); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended before
				}
			}
		}
		if _, err := run("ip", "netns", "delete", name); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dataDir(n)))...)
}

func dataDir(number int) string { return filepath.Join(memory, fmt.Sprintf("rota%d", number)) }

// memoryDir creates a lab's directory in memory.
func memoryDir(number int) (string, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil {
		return "", fmt.Errorf("look at %s: %w", memory, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < room {
		return "", fmt.Errorf("%s has %d MiB free, and %d may be needed", memory, free>>20, room>>20)
	}
	return dataDir(number), os.MkdirAll(dataDir(number), 0o700)
}

// inhabitants lists the IDs of the processes of a namespace, without this process.
func inhabitants(namespace string) string {
	pids, err := run("ip", "netns", "pids", namespace)
	if err != nil {
		return ""
	}
	own := strconv.Itoa(os.Getpid())
	return strings.Join(slices.DeleteFunc(strings.Fields(pids), func(pid string) bool { return pid == own }), " ")
}

// subnetTaken reports whether this machine is in the subnet of a number already.
func subnetTaken(n int) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, a := range addrs {
		if network, ok := a.(*net.IPNet); ok && network.Contains(net.IPv4(10, 213, byte(n), 254)) {
			return true
		}
	}
	return false
}

// releaseAtInterrupt makes an interrupted test return its numbers before it ends.
var releaseAtInterrupt = sync.OnceFunc(func() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() { // the goroutine lives as long as the process
		sig := <-signals
		owned.mu.Lock() // locked for good: no test may return or take a number any more
		for n := range owned.locks {
			if err := remove(n); err != nil {
				fmt.Fprintln(os.Stderr, "network:", err)
			}
		}
		signal.Reset()
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
	}()
})
