package kubernetes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
)

const (
	helmVersion = "v3.19.5"
	chart       = "../../deploy/helm/rota"
	manifests   = "../../deploy/kubernetes/rota.yaml"
)

// helm runs Helm, which the Go module proxy provides.
func helm(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(helmBinary(t), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// helmBinary returns ROTA_TEST_HELM, or builds Helm in the user's cache. It skips the test where faults are not tested, because
// the build takes minutes.
func helmBinary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("ROTA_TEST_HELM"); path != "" {
		return path
	}
	if testing.Short() || os.Getenv("ROTA_FAULTS") == "" {
		t.Skip("builds Helm, as make fault does: set ROTA_FAULTS=1, or ROTA_TEST_HELM to a program")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "rota-test-helm-"+helmVersion)
	path := filepath.Join(dir, "helm")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cmd := exec.Command("go", "install", "helm.sh/helm/v3/cmd/helm@"+helmVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		lacking.Report(t, "Helm cannot be built from the Go module proxy: %v: %s", err, out)
	}
	return path
}

// object is what the tests read of an object of Kubernetes.
type object struct {
	Kind     string
	Metadata struct {
		Name        string
		Labels      map[string]string
		Annotations map[string]string
	}
	Data map[string]string
	Spec map[string]any
}

func objects(t *testing.T, text string) (list []object) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			list = append(list, o)
		}
	}
}

func find(t *testing.T, list []object, kind, name string) object {
	t.Helper()
	i := slices.IndexFunc(list, func(o object) bool { return o.Kind == kind && o.Metadata.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return list[i]
}

func TestTheChartRenders(t *testing.T) {
	if out, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Fatal(err, out)
	}
	for _, tt := range []struct {
		set  []string
		want []string // kind/name
	}{
		{nil, []string{"StatefulSet/rota", "PodDisruptionBudget/rota", "NetworkPolicy/rota", "Job/rota-pki", "CronJob/rota-pki-renew"}},
		{[]string{"workers.enabled=true"}, []string{"Deployment/rota-worker", "HorizontalPodAutoscaler/rota-worker", "PodDisruptionBudget/rota-worker"}},
		{[]string{"workers.enabled=true", "workers.autoscaling.kind=keda"}, []string{"ScaledObject/rota-worker"}},
		{[]string{"workers.enabled=true", "workers.kubernetes.enabled=true"}, []string{"ServiceAccount/rota-worker", "Role/rota-jobs"}},
		{[]string{"certificates.from=certManager"}, []string{"Issuer/rota-etcd-ca", "Certificate/rota-etcd-client", "ConfigMap/rota-auth"}},
		{[]string{"serviceMonitor.enabled=true"}, []string{"ServiceMonitor/rota"}},
		{[]string{"replicas=2", "etcd.external.endpoints={https://e:2379}", "etcd.external.secret=e"}, []string{"StatefulSet/rota"}},
	} {
		args := []string{"template", "rota", chart}
		for _, s := range tt.set {
			args = append(args, "--set", s)
		}
		out, err := helm(t, args...)
		if err != nil {
			t.Error(err)
			continue
		}
		list := objects(t, out)
		for _, want := range tt.want {
			kind, name, _ := strings.Cut(want, "/")
			find(t, list, kind, name)
		}
		checkSettings(t, find(t, list, "ConfigMap", "rota-settings"))
		checkPods(t, list)
	}
}

// checkSettings loads the settings of the chart as a replica and a worker do.
func checkSettings(t *testing.T, o object) {
	t.Helper()
	for file, text := range o.Data {
		path := files.Write(t, filepath.Join(t.TempDir(), file), text)
		environ := []string{"ROTA_NODE_NAME=rota-0", "ROTA_HTTP_ADVERTISE=rota-0.rota-peers:8470"}
		if strings.Contains(text, "cluster:") {
			environ = append(environ, "ROTA_ETCD_EMBEDDED_CLIENT=https://rota-0.rota-peers:2379", "ROTA_ETCD_EMBEDDED_PEER=https://rota-0.rota-peers:2380")
		}
		set, err := config.LoadSettings(path, nil, environ)
		if err != nil || len(set.Warnings) > 0 {
			t.Errorf("%s: %v %q\n%s", file, err, set.Warnings, text)
		}
	}
}

// The number of replicas changes no pod: a change of the template would restart all of them, without a quorum.
func TestScalingRestartsNoPod(t *testing.T) {
	template := func(replicas string) string {
		out, err := helm(t, "template", "rota", chart, "--set", "workers.enabled=true", "--set", "replicas="+replicas)
		if err != nil {
			t.Fatal(err)
		}
		list := objects(t, out)
		text, err := yaml.Marshal([]any{
			find(t, list, "StatefulSet", "rota").Spec["template"], find(t, list, "Deployment", "rota-worker").Spec["template"],
			find(t, list, "Job", "rota-pki").Spec["template"],
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if template("3") != template("5") {
		t.Error("the pods of 3 and 5 replicas differ")
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	for set, place := range map[string]string{
		"replicas=two": "/replicas", "replicas=2": "/replicas", "image.pullPolicy=Sometimes": "/image/pullPolicy", "replcas=3": "replcas",
		"workers.capacity=0": "/workers/capacity", "workers.kubernetes.namespaces={A B}": "/workers/kubernetes/namespaces",
		"persistence.enabled=maybe": "/persistence/enabled", "certificates.from=thinair": "/certificates/from",
		"etcd.external.endpoints={e:2379}": "/etcd/external/endpoints/0", "workers.terminationGracePeriodSeconds=1": "/workers/termination",
		"workers.volume.name=x": "/workers/volume", "workers.volume.a.x=1,workers.volume.b.x=1": "/workers/volume",
		"workers.kubernetes.enabled=true":                        "needs workers.enabled",
		"workers.enabled=true,workers.autoscaling.max=5":         "max is less than min",
		"serviceMonitor.enabled=true,certificates.from=existing": "serviceMonitor.tokenSecret",
	} {
		if _, err := helm(t, "template", "rota", chart, "--set", set); err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: got %v, want an error that names %s", set, err, place)
		}
	}
}

func TestTheManifestsAreThoseOfTheChart(t *testing.T) {
	want, err := helm(t, "template", "rota", chart, "-f", filepath.Join(chart, "plain.yaml"), "--skip-tests")
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ROTA_UPDATE") != "" {
		if err := os.WriteFile(manifests, []byte(render(want)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	if render(want) != string(got) {
		t.Errorf("%s differs from the chart: run `make manifests`", manifests)
	}
}

// render makes the plain manifests from the output of Helm.
func render(text string) string {
	const head = "# Three replicas of rota, rendered from deploy/helm/rota by `make manifests`. Use them as they are:\n# kubectl apply -f deploy/kubernetes/\n"
	var b strings.Builder
	b.WriteString(head)
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(strings.ReplaceAll(line, "managed-by: Helm", "managed-by: kubectl"), " \t\n") + "\n")
	}
	return b.String()
}
