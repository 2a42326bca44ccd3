package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// dist returns the directory of a release. `make release` runs these tests on its own result.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROTA_RELEASE")
	if dir == "" {
		t.Skip("NOT TESTED: there is no release: run make release")
	}
	return dir
}

// files returns the artifacts of a release with a suffix.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), "*"+suffix))
	if err != nil || len(found) == 0 {
		t.Fatalf("the release has no *%s: %v", suffix, err)
	}
	return found
}

// untar reads the files of an archive by their names.
func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	content := map[string][]byte{}
	for r := tar.NewReader(r); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err != nil {
			t.Fatal(err)
		}
		if content[strings.TrimPrefix(h.Name, "./")], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// unpack reads the files of a compressed archive by their names.
func unpack(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, z)
}

func TestTheArtifactsHaveTheirChecksums(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	cmd.Dir = dist(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(dist(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files(t, "") {
		if name := filepath.Base(file); name != "SHA256SUMS" && !strings.Contains(string(sums), "  "+name+"\n") {
			t.Errorf("%s has no checksum", name)
		}
	}
}

func TestTheArtifactsHaveStaticBinariesForTheirMachines(t *testing.T) {
	for _, file := range files(t, ".tar.gz") {
		if strings.HasSuffix(file, "_image.tar.gz") {
			continue
		}
		_, target, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "rota_"), ".tar.gz"), "_")
		content := unpack(t, file)
		for _, name := range []string{"rota", "LICENSE", "README.md", "CHANGELOG.md"} {
			if len(content[name]) == 0 {
				t.Errorf("%s has no %s", file, name)
			}
		}
		checkBinary(t, target, content["rota"])
	}
}

// checkBinary checks that a program was built for a target, such as linux_arm64, and needs no library on Linux.
func checkBinary(t *testing.T, target string, program []byte) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if got := settings["GOOS"] + "_" + settings["GOARCH"]; got != target || settings["CGO_ENABLED"] != "0" {
		t.Errorf("%s: the binary is for %s, with cgo %s", target, got, settings["CGO_ENABLED"])
	}
	// Go does not recognize a linked worktree of git.
	if clone, err := os.Stat("../../.git"); err == nil && clone.IsDir() && settings["vcs.revision"] == "" {
		t.Errorf("%s: the binary does not know its commit", target)
	}
	if !strings.HasPrefix(target, "linux") {
		return
	}
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Errorf("%s: %v", target, err)
		return
	}
	if libraries, err := e.ImportedLibraries(); len(libraries) > 0 || (err != nil && !errors.Is(err, elf.ErrNoSymbols)) {
		t.Errorf("%s is not static: %q %v", target, libraries, err)
	}
}

// The SBOM names each module of the binary with its version, and nothing else.
func TestTheArtifactsHaveASBOMOfTheBinary(t *testing.T) {
	text, err := os.ReadFile(files(t, ".cdx.json")[0])
	if err != nil {
		t.Fatal(err)
	}
	var sbom struct {
		BomFormat, SpecVersion string
		Components             []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &sbom); err != nil || sbom.BomFormat != "CycloneDX" || sbom.SpecVersion == "" {
		t.Fatalf("the SBOM is %q %q: %v", sbom.BomFormat, sbom.SpecVersion, err)
	}
	archives := files(t, "_linux_*64.tar.gz") // the SBOM is that of the last one
	info, err := buildinfo.Read(bytes.NewReader(unpack(t, archives[len(archives)-1])["rota"]))
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for _, c := range sbom.Components {
		if !strings.HasPrefix(c.Purl, "pkg:golang/") {
			t.Errorf("the component %s has the purl %q", c.Name, c.Purl)
		}
		got[c.Name] = c.Version
	}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		want[d.Path] = d.Version
	}
	delete(got, "std") // go version -m does not list it
	if len(want) < 10 || !maps.Equal(got, want) {
		t.Errorf("the SBOM has %d modules, the binary %d\nthe SBOM:   %q\nthe binary: %q", len(got), len(want),
			slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func TestTheArtifactsHaveImages(t *testing.T) {
	for _, file := range files(t, "_image.tar.gz") {
		arch := strings.TrimSuffix(file[strings.LastIndex(file, "linux_")+len("linux_"):], "_image.tar.gz")
		content := unpack(t, file)
		var config struct {
			Architecture string
			Config       struct {
				User       string
				Entrypoint []string
			}
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(content["config.json"], &config); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content["layer.tar"])
		if config.Architecture != arch || !slices.Equal(config.RootFS.DiffIDs, []string{"sha256:" + hex.EncodeToString(sum[:])}) {
			t.Errorf("%s: the configuration is %+v", file, config)
		}
		layer := untar(t, bytes.NewReader(content["layer.tar"]))
		checkBinary(t, "linux_"+arch, layer["rota"])
		checkDockerfile(t, config.Config.User, config.Config.Entrypoint)
		if exec.Command("docker", "info").Run() != nil {
			t.Logf("NOT TESTED: docker load %s: there is no engine", filepath.Base(file))
			continue
		}
		load(t, file, arch)
	}
}

// checkDockerfile compares the image with the one that deploy/Dockerfile makes.
func checkDockerfile(t *testing.T, user string, entrypoint []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(entrypoint)
	for _, line := range []string{"USER " + user, "ENTRYPOINT " + string(quoted)} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("deploy/Dockerfile has no line %s", line)
		}
	}
}

// load loads an image into Docker's engine, and runs it if it is for this machine.
func load(t *testing.T, file, arch string) {
	t.Helper()
	out, err := exec.Command("docker", "load", "--quiet", "--input", file).CombinedOutput()
	_, image, ok := strings.Cut(string(out), "Loaded image: ") // before it, Docker may say that it renames an earlier image
	if image = strings.TrimSpace(image); err != nil || !ok {
		t.Errorf("docker load %s: %v\n%s", file, err, out)
		return
	}
	defer func() { _ = exec.Command("docker", "rmi", image).Run() }() // the images of all machines have one name
	out, err = exec.Command("docker", "image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", image).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "linux/"+arch {
		t.Errorf("docker image inspect %s: got %q, %v, want linux/%s", image, got, err, arch)
	}
	if arch != runtime.GOARCH {
		return
	}
	if out, err := exec.Command("docker", "run", "--rm", "--network=none", image, "version").CombinedOutput(); err != nil {
		t.Errorf("docker run %s version: %v\n%s", image, err, out)
	}
}
