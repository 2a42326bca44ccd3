package container

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The author of a container job must not get more of the machine than the operator lists. Otherwise he is root there.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data", "secret"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "data", "link")); err != nil {
		t.Fatal(err)
	}
	limits := &Limits{
		Volumes:  []string{dir + "/data", dir + "/data/*", "/srv/*/shared", "cache-*"},
		Networks: []string{"none", "team-*"},
	}
	const volumes, networks = "is not in worker.container.volumes", "is not in worker.container.networks"
	for name, tt := range map[string]struct {
		volume, network string
		limits          *Limits
		want            string // the end of the reason; empty: allowed
	}{
		"neither volume nor network": {},
		"a path":                     {volume: dir + "/data:/data:ro"},
		"another form of the path":   {volume: dir + "//data/./:/data"},
		"a path of another machine":  {volume: "/srv/billing/shared:/data"},
		"a volume with a name":       {volume: "cache-go:/cache"},
		"a listed network":           {network: "team-a"},
		"no network":                 {network: "none"},
		"another path":               {volume: dir + "/secret:/s", want: volumes},
		"the whole machine":          {volume: "/:/host", want: volumes},
		"the socket of the engine":   {volume: "/var/run/docker.sock:/d", want: volumes},
		"a way out":                  {volume: dir + "/data/../secret:/s", want: volumes},
		"a way out of the pattern":   {volume: "/srv/../shared:/s", want: volumes},
		"a link that leads out":      {volume: dir + "/data/link:/s", want: volumes},
		"below the pattern":          {volume: "/srv/a/b/shared:/s", want: volumes},
		"another volume":             {volume: "postgres:/s", want: volumes},
		"the network of the host":    {network: "host", want: networks},
		"that of another container":  {network: "container:postgres", want: networks},
		"an empty list":              {volume: "/srv:/srv", limits: &Limits{}, want: volumes},
	} {
		t.Run(name, func(t *testing.T) {
			use := limits
			if tt.limits != nil {
				use = tt.limits
			}
			c := &job.Container{Image: "x", Network: tt.network}
			if tt.volume != "" {
				c.Volumes = []string{tt.volume}
			}
			err := use.check(c)
			if tt.want == "" && err != nil {
				t.Fatalf("refused: %v", err)
			}
			if tt.want == "" {
				return
			}
			e := New(Config{Socket: filepath.Join(dir, "absent.sock"), Limits: use}, time.Now)
			o := e.Execute(t.Context(), executor.Request{Spec: job.Spec{Container: c}, Output: os.Stderr})
			if o.State != job.Failed || o.Retry || len(o.Reason) < len(tt.want) || o.Reason[len(o.Reason)-len(tt.want):] != tt.want {
				t.Errorf("got %+v, want a failure that is not repeated: %s", o, tt.want)
			}
		})
	}
}
