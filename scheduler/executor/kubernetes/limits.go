package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// harmless has the fields of a pod template that give a job no right beyond its own pod. An entry covers the fields below it.
// With a value, it covers that value alone. Items of lists have the name of the list.
//
// Everything else needs Config.Allow: the node and its network, accounts and Secrets of the namespace, and labels, by which
// Services and network policies choose pods. Fields that a later version of Kubernetes adds need it too.
var harmless = func() []string {
	list := []string{
		"spec.activeDeadlineSeconds", "spec.affinity", "spec.dnsConfig", "spec.dnsPolicy", "spec.hostAliases", "spec.hostname",
		"spec.enableServiceLinks", "spec.imagePullSecrets", "spec.nodeSelector", "spec.os", "spec.restartPolicy",
		"spec.shareProcessNamespace", "spec.terminationGracePeriodSeconds", "spec.tolerations", "spec.topologySpreadConstraints",
		"spec.securityContext.fsGroup", "spec.securityContext.fsGroupChangePolicy", "spec.securityContext.supplementalGroups",
		"spec.volumes.name", "spec.volumes.configMap", "spec.volumes.downwardAPI", "spec.volumes.emptyDir",
	}
	for _, of := range []string{"spec.containers.", "spec.initContainers."} {
		for _, name := range []string{
			"args", "command", "env.name", "env.value", "env.valueFrom.configMapKeyRef", "env.valueFrom.fieldRef",
			"env.valueFrom.resourceFieldRef", "envFrom.configMapRef", "envFrom.prefix", "image", "imagePullPolicy", "name",
			"ports.containerPort", "ports.name", "ports.protocol", "resources", "restartPolicy", "securityContext.capabilities.drop",
			"securityContext.readOnlyRootFilesystem", "stdin", "terminationMessagePath", "terminationMessagePolicy", "tty",
			"volumeMounts", "workingDir",
		} {
			list = append(list, of+name)
		}
	}
	for _, of := range []string{"spec.", "spec.containers.", "spec.initContainers."} {
		for _, name := range []string{"runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile.type=RuntimeDefault"} {
			list = append(list, of+"securityContext."+name)
		}
	}
	return list
}()

// beyond returns an error if a job sets a field of its pod that neither harmless nor allow has.
func beyond(k *job.Kubernetes, allow []string) error {
	covered := slices.Concat(harmless, allow)
	if field := uncovered("spec.serviceAccountName", k.ServiceAccount, covered); field != "" {
		return fmt.Errorf("pod field %s is not in worker.kubernetes.allow", field)
	}
	if len(k.Template) == 0 {
		return nil
	}
	var template map[string]any
	if err := json.Unmarshal(k.Template, &template); err != nil {
		return fmt.Errorf("read kubernetes.template: %w", err)
	}
	if field := uncovered("", template, covered); field != "" {
		return fmt.Errorf("pod field %s is not in worker.kubernetes.allow", field)
	}
	return nil
}

// uncovered returns the first field at or below field that no entry covers. Values that are empty or false give no rights.
func uncovered(field string, value any, covered []string) string {
	if slices.ContainsFunc(covered, func(c string) bool { return field == c || strings.HasPrefix(field, c+".") }) {
		return ""
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := uncovered(strings.TrimPrefix(field+"."+name, "."), v[name], covered); found != "" {
				return found
			}
		}
		return ""
	case []any:
		for _, item := range v {
			if found := uncovered(field, item, covered); found != "" {
				return found
			}
		}
		return ""
	case nil:
		return ""
	}
	if value == false || value == "" || slices.Contains(covered, fmt.Sprintf("%s=%v", field, value)) {
		return ""
	}
	return field
}
