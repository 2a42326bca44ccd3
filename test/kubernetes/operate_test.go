package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// checkPods checks each pod of the chart as the level restricted of Pod Security does: https://kubernetes.io/docs/concepts/security
func checkPods(t *testing.T, list []object) {
	t.Helper()
	pods := 0
	for _, o := range list {
		spec, ok := o.Spec, o.Kind == "Pod"
		for _, step := range []string{"jobTemplate", "spec", "template", "spec"} {
			if inner, is := spec[step].(map[string]any); is {
				spec, ok = inner, true
			}
		}
		if !ok || spec["containers"] == nil {
			continue
		}
		pods++
		name := o.Kind + "/" + o.Metadata.Name
		for _, want := range []string{"runAsNonRoot:true", "type:RuntimeDefault"} {
			if pod := fmt.Sprint(spec["securityContext"]); !strings.Contains(pod, want) {
				t.Errorf("%s: its pod lacks %s: %s", name, want, pod)
			}
		}
		for _, c := range spec["containers"].([]any) {
			own := fmt.Sprint(at(c, "securityContext"))
			for _, want := range []string{"allowPrivilegeEscalation:false", "drop:[ALL]", "readOnlyRootFilesystem:true"} {
				if !strings.Contains(own, want) {
					t.Errorf("%s: its container lacks %s: %s", name, want, own)
				}
			}
		}
		for _, key := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			if spec[key] != nil {
				t.Errorf("%s has %s", name, key)
			}
		}
		volumes, _ := spec["volumes"].([]any)
		for _, v := range volumes {
			for kind := range v.(map[string]any) {
				if !slices.Contains([]string{"name", "emptyDir", "configMap", "secret", "ephemeral", "persistentVolumeClaim"}, kind) {
					t.Errorf("%s has a volume of kind %s", name, kind)
				}
			}
		}
	}
	if pods < 2 {
		t.Errorf("the chart has %d pods", pods)
	}
}

// rendered returns the objects of the chart with the given values.
func rendered(t *testing.T, set ...string) []object {
	t.Helper()
	args := []string{"template", "rota", chart}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	out, err := helm(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, out)
}

// Two Services with one port name for the same pods would count each run twice for the autoscalers.
func TestPrometheusFindsEachPodOnce(t *testing.T) {
	for _, from := range []string{"job", "certManager"} {
		list := rendered(t, "workers.enabled=true", "serviceMonitor.enabled=true", "certificates.from="+from)
		found := map[string]int{}
		for _, o := range list {
			if o.Kind != "ServiceMonitor" {
				continue
			}
			endpoint := at(o.Spec, "endpoints", 0).(map[string]any)
			if (endpoint["authorization"] != nil) != (from == "job") {
				t.Errorf("certificates from %s: the token of %s is %v", from, o.Metadata.Name, endpoint["authorization"])
			}
			for _, s := range list {
				if s.Kind == "Service" && selects(at(o.Spec, "selector", "matchLabels"), s.Metadata.Labels) {
					found[fmt.Sprint(at(s.Spec, "selector", "app.kubernetes.io/component"))]++
				}
			}
		}
		if found["replica"] != 1 || found["worker"] != 1 || len(found) != 2 {
			t.Errorf("certificates from %s: Prometheus scrapes Services of %v, want one of replicas and one of workers", from, found)
		}
	}
}

// selects reports whether a selector accepts labels.
func selects(selector any, labels map[string]string) bool {
	for key, value := range selector.(map[string]any) {
		if labels[key] != value {
			return false
		}
	}
	return true
}

func TestWorkersAreOperatedByValues(t *testing.T) {
	list := rendered(t, "workers.enabled=true", "workers.volume.emptyDir.sizeLimit=2Gi", "workers.terminationGracePeriodSeconds=630",
		"workers.nodeSelector.pool=jobs", "nodeSelector.pool=rota", "priorityClassName=high")
	worker := at(find(t, list, "Deployment", "rota-worker").Spec, "template", "spec").(map[string]any)
	replica := at(find(t, list, "StatefulSet", "rota").Spec, "template", "spec").(map[string]any)
	for got, want := range map[any]string{
		fmt.Sprint(at(worker, "volumes", 0)):                                  "map[emptyDir:map[sizeLimit:2Gi] name:data]",
		fmt.Sprint(worker["terminationGracePeriodSeconds"]):                   "630",
		fmt.Sprint(worker["nodeSelector"]):                                    "map[pool:jobs]",
		fmt.Sprint(replica["nodeSelector"]):                                   "map[pool:rota]",
		fmt.Sprint(replica["terminationGracePeriodSeconds"]):                  "60",
		fmt.Sprint(replica["priorityClassName"], worker["priorityClassName"]): "highhigh",
	} {
		if got != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	policy := find(t, list, "NetworkPolicy", "rota").Spec
	if peers := fmt.Sprint(at(policy, "ingress", 2)); strings.Contains(peers, "worker") || !strings.Contains(peers, "2380") {
		t.Errorf("port 2380 is open for %s, want replicas only", peers)
	}
}
