package checkup

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// examineMachine examines this machine with the settings of its replica or worker.
func examineMachine(s *config.Settings, present []*job.Replica, workers []*job.Worker) *doctor.Machine {
	m := &doctor.Machine{
		DataDir: s.Node.DataDir,
		Settings: doctor.Settings{
			Node: s.Node.Name, TTL: s.Election.TTL, MaxClockOffset: s.Dispatch.MaxClockOffset, ArmAhead: s.Dispatch.ArmAhead,
			Capacity: s.Worker.Capacity, Worker: s.Worker.Enabled,
		},
	}
	if len(s.Etcd.Endpoints) == 0 {
		m.Settings.Embedded = 1 + strings.Count(s.Etcd.Embedded.Cluster, ",")
	}
	m.Sync, m.DiskErr = syncs(m.DataDir)
	m.Free, m.Total = space(m.DataDir)
	for _, path := range []string{s.HTTP.TLS.Key, s.Etcd.TLS.Key, s.Etcd.Embedded.TLS.Key} {
		if info, err := os.Stat(path); path != "" && err == nil && info.Mode().Perm()&0o077 != 0 {
			m.OpenKeys = append(m.OpenKeys, path)
		}
	}
	slices.Sort(m.OpenKeys)
	m.OpenKeys = slices.Compact(m.OpenKeys)
	for _, r := range present {
		if r.Name == s.Node.Name {
			m.Descriptors = descriptors(r.PID)
		}
	}
	for _, w := range workers {
		if w.Name == s.Node.Name && m.Descriptors == 0 {
			m.Descriptors = descriptors(w.PID)
		}
	}
	return m
}

// syncs returns the median time of several small writes to dir with fsync.
func syncs(dir string) (median time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name())
	}()
	var took []time.Duration
	for range reads {
		began := time.Now()
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return 0, fmt.Errorf("write: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("sync: %w", err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// descriptors returns how many files the process of rota with this id may open; 0 if that is unknown, or if the process is another
// one.
func descriptors(pid int) uint64 {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || !strings.HasPrefix(string(comm), "rota") {
		return 0
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Max open files"); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				n, _ := strconv.ParseUint(words[0], 10, 64) // 0 stands for "unlimited", too
				return n
			}
		}
	}
	return 0
}
