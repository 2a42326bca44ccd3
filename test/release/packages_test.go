package release_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// packaged are files that the deb and the rpm have.
var packaged = []string{
	"/usr/bin/rota",
	"/usr/lib/systemd/system/rota.service", "/usr/lib/systemd/system/rota-worker.service", "/usr/lib/sysusers.d/rota.conf",
	"/usr/share/man/man1/rota.1.gz", "/usr/share/man/man1/rota-serve.1.gz", "/usr/share/bash-completion/completions/rota",
	"/usr/share/fish/vendor_completions.d/rota.fish", "/etc/rota/rota.yaml", "/etc/rota/worker.yaml", "/etc/rota/jobs.d/jobs.yaml",
}

func TestTheArtifactsHavePackages(t *testing.T) {
	for suffix, tt := range map[string]struct {
		list  []string // a program that lists the files of a package
		needs []string // a program that lists the packages that it depends on, as an argument before the file
		more  []string // further files and directories
	}{
		".deb": {
			[]string{"dpkg-deb", "--contents"},
			[]string{"dpkg-deb", "--show", "--showformat=${Depends}\n"},
			[]string{"/usr/share/zsh/vendor-completions/_rota"},
		},
		".rpm": {
			[]string{"rpm", "--query", "--list", "--package"},
			[]string{"rpm", "--query", "--requires", "--package"},
			// rpm removes only the directories that the package names.
			[]string{"/usr/share/zsh/site-functions/_rota", "/etc/rota", "/etc/rota/jobs.d", "/usr/share/doc/rota"},
		},
	} {
		found := files(t, suffix)
		if _, err := exec.LookPath(tt.list[0]); err != nil {
			t.Logf("NOT TESTED: the files of *%s: %s is missing", suffix, tt.list[0])
			continue
		}
		for _, file := range found {
			out, err := exec.CommandContext(t.Context(), tt.list[0], append(tt.list[1:], file)...).Output()
			if err != nil {
				t.Errorf("%s %s: %v", tt.list[0], file, err)
			}
			for _, path := range append(slices.Clone(packaged), tt.more...) {
				if !strings.Contains(string(out), path+"\n") {
					t.Errorf("%s has no %s", file, path)
				}
			}
			// The script after the installation calls systemd-sysusers.
			needs, err := exec.CommandContext(t.Context(), tt.needs[0], append(tt.needs[1:], file)...).Output()
			if err != nil || !strings.HasPrefix(string(needs), "systemd") {
				t.Errorf("%s depends on %q, %v; want systemd", file, needs, err)
			}
		}
	}
}
