package worker

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// PressureReader returns a function that reads the pressure of this machine, or of the cgroup of this process if that is higher.
// The process must not change its cgroup. The function uses the kernel's pressure stall information (PSI): for memory the time in
// which all work waited, for CPUs the time in which some did, both over ten seconds. A kernel without PSI has estimates instead.
// An unreadable value counts as zero.
func PressureReader() func() Pressure { return pressureReader("/", runtime.NumCPU()) }

// lastMemory is the share of the memory below which a kernel without PSI counts as under pressure.
const lastMemory = 0.1

// pressureReader does the same as PressureReader, with proc and sys below root, for a machine of so many cores.
func pressureReader(root string, cores int) func() Pressure {
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(root, name))
		return string(b)
	}
	groups := memoryFiles(read("proc/self/cgroup"), read)
	return func() (p Pressure) {
		if text := read("proc/pressure/memory"); text != "" {
			p.Memory = stallTime(text, "full")
		} else {
			p.Memory = shortOfMemory(read("proc/meminfo"))
		}
		if text := read("proc/pressure/cpu"); text != "" {
			p.CPU = stallTime(text, "some")
		} else {
			p.CPU = shortOfCores(read("proc/loadavg"), cores)
		}
		for _, name := range groups {
			p.Memory = max(p.Memory, stallTime(read(name), "full"))
		}
		return p
	}
}

// memoryFiles returns the files with the memory pressure of a process's cgroup. cgroups is the text of its file cgroup.
func memoryFiles(cgroups string, read func(name string) string) (names []string) {
	for line := range strings.Lines(cgroups) {
		group, unified := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for _, tree := range []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"} {
			if name := filepath.Join(tree, group, "memory.pressure"); unified && read(name) != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// stallTime returns avg10 of the line of a kind, some or full, of a PSI file.
func stallTime(text, kind string) float64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == kind {
			percent, _ := strconv.ParseFloat(strings.TrimPrefix(fields[1], "avg10="), 64)
			return percent
		}
	}
	return 0
}

// shortOfMemory estimates the pressure from /proc/meminfo: from 0 % if a tenth of the memory is available to 100 % if none is.
func shortOfMemory(meminfo string) float64 {
	sizes := map[string]float64{}
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) > 1 {
			sizes[fields[0]], _ = strconv.ParseFloat(fields[1], 64)
		}
	}
	total, available := sizes["MemTotal:"], sizes["MemAvailable:"]
	if total <= 0 {
		return 0
	}
	return 100 * max(0, 1-available/total/lastMemory)
}

// shortOfCores estimates the pressure from /proc/loadavg: the share of the tasks that have no core, over a minute.
func shortOfCores(loadavg string, cores int) float64 {
	first, _, _ := strings.Cut(loadavg, " ")
	load, _ := strconv.ParseFloat(first, 64)
	if load <= 0 {
		return 0
	}
	return 100 * max(0, 1-float64(cores)/load)
}
