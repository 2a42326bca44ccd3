package worker

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/rota-scheduler/rota/test/files"
)

const (
	memoryPSI = "some avg10=71.00 avg60=5.09 avg300=2.61 total=57550140\nfull avg10=43.25 avg60=0.00 avg300=0.00 total=6163975\n"
	cpuPSI    = "some avg10=97.65 avg60=98.01 avg300=98.25 total=2044593212\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
	groupPSI  = "some avg10=99.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=80.00 avg60=0.00 avg300=0.00 total=1\n"
)

func TestPressureReader(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  Pressure
	}{
		{"nothing can be read", nil, Pressure{}},
		{"PSI", map[string]string{"proc/pressure/memory": memoryPSI, "proc/pressure/cpu": cpuPSI}, Pressure{43.25, 97.65}},
		{"the cgroup has more", map[string]string{
			"proc/pressure/memory": memoryPSI, "proc/pressure/cpu": cpuPSI, "proc/self/cgroup": "3:cpu:/x\n0::/rota.service\n",
			"sys/fs/cgroup/rota.service/memory.pressure": groupPSI,
		}, Pressure{80, 97.65}},
		{"the cgroup of a hybrid tree", map[string]string{
			"proc/pressure/memory": memoryPSI, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/unified/a/memory.pressure": groupPSI,
		}, Pressure{80, 0}},
		{"a kernel without PSI", map[string]string{
			"proc/meminfo": "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 40 kB\n", "proc/loadavg": "8.00 1.00 0.50 1/2 3\n",
		}, Pressure{60, 75}},
		{"such a kernel at rest", map[string]string{
			"proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 400 kB\n", "proc/loadavg": "0.00 1.00 0.50 1/2 3\n",
		}, Pressure{}},
		{"garbage", map[string]string{
			"proc/pressure/memory": "full\nfull avg10=x\n", "proc/pressure/cpu": "\x00", "proc/self/cgroup": "0::/../../etc\n0::\n",
		}, Pressure{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(root, name)
				files.Write(t, path, text)
			}
			got := pressureReader(root, 2)()
			if math.Abs(got.Memory-tt.want.Memory) > 1e-9 || math.Abs(got.CPU-tt.want.CPU) > 1e-9 {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
