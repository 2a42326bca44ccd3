package node

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// module is the path of the module that this package belongs to.
const module = "github.com/rota-scheduler/rota"

// DevelVersion stands for the version of a build outside of a repository.
const DevelVersion = "(devel)"

// BuiltVersion returns the version of rota that the Go toolchain wrote into this binary.
func BuiltVersion() api.VersionView {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info)
}

// versionOf reads the version of rota. In a program of a user, it is that of a dependency, and the commit of the program is another
// one.
func versionOf(info *debug.BuildInfo) api.VersionView {
	v := api.VersionView{Version: DevelVersion, Go: runtime.Version()}
	for _, d := range info.Deps {
		if d.Path != module {
			continue
		}
		if d.Replace != nil {
			d = d.Replace
		}
		if d.Version != "" { // a directory that replaces the module has none
			v.Version = d.Version
		}
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				v.Built = t
			}
		}
	}
	return v
}
