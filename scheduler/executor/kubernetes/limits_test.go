package kubernetes_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The author of a job must not get beyond his pod unless the operator lists the field.
func TestFieldsBeyondThePodAreRefused(t *testing.T) {
	refused := map[string]string{ // template: its field
		`{"spec":{"hostNetwork":true}}`:                         "spec.hostNetwork",
		`{"spec":{"hostPID":true}}`:                             "spec.hostPID",
		`{"spec":{"hostIPC":true}}`:                             "spec.hostIPC",
		`{"spec":{"hostUsers":true}}`:                           "spec.hostUsers",
		`{"spec":{"nodeName":"n1"}}`:                            "spec.nodeName",
		`{"spec":{"HostNetwork":true}}`:                         "spec.HostNetwork",
		`{"spec":{"futureField":["x"]}}`:                        "spec.futureField",
		`{"spec":{"serviceAccountName":"admin"}}`:               "spec.serviceAccountName",
		`{"spec":{"serviceAccount":"admin"}}`:                   "spec.serviceAccount",
		`{"spec":{"automountServiceAccountToken":true}}`:        "spec.automountServiceAccountToken",
		`{"spec":{"priorityClassName":"system-node-critical"}}`: "spec.priorityClassName",
		`{"spec":{"runtimeClassName":"runc"}}`:                  "spec.runtimeClassName",
		`{"spec":{"volumes":[{"name":"a","emptyDir":{}},{"name":"b","hostPath":{"path":"/"}}]}}`:                                "spec.volumes.hostPath.path",
		`{"spec":{"volumes":[{"name":"b","secret":{"secretName":"other"}}]}}`:                                                   "spec.volumes.secret.secretName",
		`{"spec":{"volumes":[{"name":"b","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}}`:                    "spec.volumes.projected.sources.serviceAccountToken.path",
		`{"spec":{"volumes":[{"name":"b","persistentVolumeClaim":{"claimName":"db"}}]}}`:                                        "spec.volumes.persistentVolumeClaim.claimName",
		`{"spec":{"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]}}}`:                                       "spec.securityContext.sysctls.name",
		`{"spec":{"securityContext":{"seccompProfile":{"type":"Unconfined"}}}}`:                                                 "spec.securityContext.seccompProfile.type",
		`{"spec":{"containers":[{"name":"job","securityContext":{"privileged":true}}]}}`:                                        "spec.containers.securityContext.privileged",
		`{"spec":{"containers":[{"name":"job","securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}}]}}`:                     "spec.containers.securityContext.capabilities.add",
		`{"spec":{"containers":[{"name":"job","securityContext":{"procMount":"Unmasked"}}]}}`:                                   "spec.containers.securityContext.procMount",
		`{"spec":{"containers":[{"name":"job","ports":[{"containerPort":1,"hostPort":22}]}]}}`:                                  "spec.containers.ports.hostPort",
		`{"spec":{"containers":[{"name":"job","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"other","key":"k"}}}]}]}}`: "spec.containers.env.valueFrom.secretKeyRef.key",
		`{"spec":{"containers":[{"name":"job","envFrom":[{"secretRef":{"name":"other"}}]}]}}`:                                   "spec.containers.envFrom.secretRef.name",
		`{"spec":{"containers":[{"name":"job","livenessProbe":{"httpGet":{"host":"169.254.169.254","port":80}}}]}}`:             "spec.containers.livenessProbe.httpGet.host",
		`{"spec":{"initContainers":[{"name":"i","image":"x","securityContext":{"privileged":true}}]}}`:                          "spec.initContainers.securityContext.privileged",
		`{"spec":{"ephemeralContainers":[{"name":"e","image":"x"}]}}`:                                                           "spec.ephemeralContainers.image",
		`{"metadata":{"labels":{"app":"payments"}}}`:                                                                            "metadata.labels.app",
		`{"metadata":{"annotations":{"iam.amazonaws.com/role":"admin"}}}`:                                                       "metadata.annotations.iam.amazonaws.com/role",
		`{"metadata":{"namespace":"kube-system"}}`:                                                                              "metadata.namespace",
	}
	execute := func(template, account string, allow ...string) (job.Outcome, int) {
		s, _ := newServer(t, exited(0))
		e := kubernetes.New(kubernetes.Config{API: s.api, Namespaces: []string{"jobs-ns"}, Allow: allow}, time.Now)
		var out bytes.Buffer
		req := request(&out)
		req.Spec.Kubernetes.Template, req.Spec.Kubernetes.ServiceAccount = []byte(template), account
		return e.Execute(t.Context(), req), s.created
	}
	for template, field := range refused {
		o, created := execute(template, "")
		if o.State != job.Failed || o.Retry || created != 0 || o.Reason != "pod field "+field+" is not in worker.kubernetes.allow" {
			t.Errorf("%s: got %+v and %d Jobs, want a refusal of %s", template, o, created, field)
		}
		if o, created := execute(template, "", "spec.x", field); strings.Contains(o.Reason, field+" is not in") {
			t.Errorf("%s: refused although it is allowed: %+v, %d Jobs", template, o, created)
		}
	}
	for _, tt := range []struct {
		template, account, allow string
		created                  int
	}{
		{`{}`, "admin", "", 0},
		{`{}`, "report", "spec.serviceAccountName=report", 1},
		{`{}`, "admin", "spec.serviceAccountName=report", 0},
		{`{"spec":{"serviceAccountName":"reporter"}}`, "", "spec.serviceAccountName=report", 0},
		{`{"spec":{"volumes":[{"name":"d","secret":{"secretName":"db"}}]}}`, "", "spec.volumes.secret.secretName=db", 1},
		{`{"spec":{"volumes":[{"name":"d","hostPath":{"path":"/srv"}}]}}`, "", "spec.volumes.hostPath", 1},
		{`{"spec":{"volumes":[{"name":"d","hostPathX":{"path":"/srv"}}]}}`, "", "spec.volumes.hostPath", 0},
		{`{"spec":{"nodeSelector":{"disk":"ssd"},"imagePullSecrets":[{"name":"registry"}],"hostNetwork":false,` +
			`"automountServiceAccountToken":false,"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},` +
			`"containers":[{"name":"job","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}},` +
			`"volumeMounts":[{"name":"tmp","mountPath":"/tmp"}]}],"volumes":[{"name":"tmp","emptyDir":{}}]}}`, "", "", 1},
	} {
		if o, created := execute(tt.template, tt.account, tt.allow); created != tt.created {
			t.Errorf("%s, account %q, allow %q: got %+v and %d Jobs, want %d", tt.template, tt.account, tt.allow, o, created, tt.created)
		}
	}
}
