package release_test

import (
	"os/exec"
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
		list []string // a program that lists the files of a package
		zsh  string
	}{
		".deb": {[]string{"dpkg-deb", "--contents"}, "/usr/share/zsh/vendor-completions/_rota"},
		".rpm": {[]string{"rpm", "--query", "--list", "--package"}, "/usr/share/zsh/site-functions/_rota"},
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
			for _, path := range append(packaged, tt.zsh) {
				if !strings.Contains(string(out), path+"\n") {
					t.Errorf("%s has no %s", file, path)
				}
			}
		}
	}
}
