package network

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/lacking"
)

// TestDisksHang freezes the file systems of replicas with embedded members, one after the other, for longer than leases last. Each
// write and each sync waits in the kernel meanwhile.
func TestDisksHang(t *testing.T) {
	rng := seeded(t)
	lab := New(t, "q1", "q2", "q3")
	disks := map[string]*disk{"q1": newDisk(t), "q2": newDisk(t), "q3": newDisk(t)}
	s := openWith(t, rng, lab, cluster.Place{Hosts: lab.Hosts()}, cluster.Config{
		Flags: func(name string) []string { return []string{"--node-data-dir=" + disks[name].dir} },
	})
	s.row("the leader's disk", func(t *testing.T) {
		leader := s.leaderApart(t)
		s.diskHangs(t, disks, leader, func(began time.Time) { s.goesOn(t, began, 6*lease) })
	})
	if !all() {
		s.close()
		return
	}
	s.row("a follower's disk", func(t *testing.T) {
		leader := s.leaderApart(t)
		storeLeader := s.c.StoreLeader()
		follower := s.follower(leader)
		for follower == storeLeader {
			follower = s.follower(leader)
		}
		since, term := time.Now(), s.term()
		s.diskHangs(t, disks, follower, func(began time.Time) { s.goesOn(t, began, 6*lease) })
		s.c.Recorder.Sync()
		if terms := s.termsSince(since); len(terms) != 1 || terms[0] != term {
			t.Errorf("terms in which slots were decided: got %d, want only the term of %s, %d", terms, leader.Name, term)
		}
	})
	s.row("the disk of the member that leads etcd", func(t *testing.T) {
		s.leaderApart(t)
		node := s.c.StoreLeader()
		over := s.c.Outage()
		s.diskHangs(t, disks, node, func(began time.Time) {
			s.goesOn(t, began, 6*lease)
			over()
		})
	})
	s.row("the disks of two", func(t *testing.T) {
		leader := s.leaderApart(t)
		over := s.c.Outage()
		other := disks[s.follower(leader).Name]
		other.freeze(t)
		defer other.thaw(t)
		s.diskHangs(t, disks, leader, func(time.Time) { awaitUnready(t, leader, 20*time.Second) })
		other.thaw(t)
		s.c.WaitReady()
		over()
	})
	s.close()
}

// diskHangs freezes the disk of a replica, for 40 s in a long test. observe watches the others meanwhile.
func (s *scene) diskHangs(t *testing.T, disks map[string]*disk, node *cluster.Node, observe func(began time.Time)) {
	t.Helper()
	began := time.Now()
	over := s.outage(node.Name)
	d := disks[node.Name]
	d.freeze(t)
	defer d.thaw(t) // otherwise the processes cannot end
	observe(began)
	awaitUnready(t, node, 20*time.Second)
	// The length of the hang is the fault. There is no condition to poll.
	time.Sleep(time.Until(began.Add(lasting(3*lease, 40*time.Second))))
	d.thaw(t)
	thawed := time.Now()
	node.WaitReady()
	t.Logf("%s is ready %v after its disk answers", node.Name, time.Since(thawed).Round(10*time.Millisecond))
	over()
}

// disk is a file system of its own.
type disk struct {
	dir    string
	frozen bool
}

// newDisk makes a disk that ends with the test.
func newDisk(t *testing.T) *disk {
	t.Helper()
	mkfs, _ := lacking.Program(t, "mkfs.ext4", "e2fsprogs"), lacking.Program(t, "fsfreeze", "util-linux")
	image, d := filepath.Join(t.TempDir(), "image"), &disk{dir: t.TempDir()}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := run(mkfs, "-q", "-F", image); err != nil {
		t.Fatal(err)
	}
	if _, err := run("mount", "-o", "loop", image, d.dir); err != nil {
		lacking.Report(t, "needs a loop device: %v", err)
	}
	t.Cleanup(func() {
		d.thaw(t)
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", d.dir, err)
		}
	})
	if err := os.Chmod(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dir, "lost+found")); err != nil {
		t.Fatal(err)
	}
	return d
}

// freeze lets nothing be written until thaw.
func (d *disk) freeze(t *testing.T) {
	t.Helper()
	if _, err := run("fsfreeze", "--freeze", d.dir); err != nil {
		t.Fatal(err)
	}
	d.frozen = true
	t.Logf("fault: the disk in %s is frozen", d.dir)
}

func (d *disk) thaw(t *testing.T) {
	t.Helper()
	if !d.frozen {
		return
	}
	d.frozen = false
	if _, err := run("fsfreeze", "--unfreeze", d.dir); err != nil {
		t.Error(err)
	}
	t.Log("healed: the disk is thawed")
}
