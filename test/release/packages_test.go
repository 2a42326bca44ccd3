package release_test

import (
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"io"
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

// TestTheArtifactsHaveManualPagesOfTheirVersion reads a manual page of each deb. It must name the version of the binary beside it.
func TestTheArtifactsHaveManualPagesOfTheirVersion(t *testing.T) {
	for _, file := range files(t, ".deb") {
		if _, err := exec.LookPath("dpkg-deb"); err != nil {
			t.Skip("NOT TESTED: dpkg-deb is missing")
		}
		out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--fsys-tarfile", file).Output()
		if err != nil {
			t.Fatal(err)
		}
		content := untar(t, bytes.NewReader(out))
		info, err := buildinfo.Read(bytes.NewReader(content["usr/bin/rota"]))
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(content["usr/share/man/man1/rota-serve.1.gz"]))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(z)
		if want := `"rota ` + info.Main.Version + `"`; err != nil || !strings.Contains(string(page), want) {
			title, _, _ := strings.Cut(string(page), "\n.SH")
			t.Errorf("%s: the manual page begins with %q, %v; want %s in it", file, title, err, want)
		}
	}
}
