package arch

import (
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// devices lists the names of files that Windows does not allow, whatever their extension.
var devices = strings.Fields("con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9")

// moduleName finds names of files that may stand in the zip of a Go module. The rule of golang.org/x/mod/zip also allows spaces
// and some signs, which this repository does not need.
var moduleName = regexp.MustCompile(`^[\w.+@=-]*[\w+@=-]$`)

// TestTheModuleCanBeDownloaded checks that each tracked file may stand in the zip of a Go module. One other file is enough, and
// `go install github.com/rota-scheduler/rota/cmd/rota@VERSION` fails for everybody.
func TestTheModuleCanBeDownloaded(t *testing.T) {
	tracked, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("this is no checkout of git, so its files are unknown: %v", err)
	}
	seen := make(map[string]string)
	for file := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		for dir := file; dir != "."; dir = path.Dir(dir) {
			name := path.Base(dir)
			short, _, _ := strings.Cut(strings.ToLower(name), ".")
			if !moduleName.MatchString(name) || slices.Contains(devices, short) {
				t.Errorf("%s: a Go module must not have a file or folder named %s", file, name)
			}
		}
		if other, taken := seen[strings.ToLower(file)]; taken {
			t.Errorf("%s and %s differ only in upper and lower case, so a Go module must not have both", file, other)
		}
		seen[strings.ToLower(file)] = file
	}
}
