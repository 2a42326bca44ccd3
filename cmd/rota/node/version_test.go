package node

import (
	"runtime/debug"
	"testing"
)

// TestAProgramWithHandlersHasTheVersionOfRota reads the version of rota from the binaries of rota and of users. Without it, rota
// version --cluster said that an upgrade is unfinished.
func TestAProgramWithHandlersHasTheVersionOfRota(t *testing.T) {
	user := debug.Module{Path: "example.com/greeter", Version: "v7.0.0"}
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}
	for name, tc := range map[string]struct {
		info            debug.BuildInfo
		version, commit string
	}{
		"rota":      {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.2.0"}, Settings: settings}, "v0.2.0", "abc"},
		"a program": {debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: module, Version: "v0.2.0"}}, Settings: settings}, "v0.2.0", ""},
		"a fork": {debug.BuildInfo{Main: user, Deps: []*debug.Module{
			{Path: module, Version: "v0.2.0", Replace: &debug.Module{Path: "example.com/rota", Version: "v0.2.1"}},
		}}, "v0.2.1", ""},
		"a directory": {debug.BuildInfo{Main: user, Deps: []*debug.Module{
			{Path: module, Version: "v0.0.0", Replace: &debug.Module{Path: "../rota"}},
		}}, DevelVersion, ""},
		"no information": {debug.BuildInfo{}, DevelVersion, ""},
	} {
		if v := versionOf(&tc.info); v.Version != tc.version || v.Commit != tc.commit {
			t.Errorf("%s: got version %q and commit %q, want %q and %q", name, v.Version, v.Commit, tc.version, tc.commit)
		}
	}
}
