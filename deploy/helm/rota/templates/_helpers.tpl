{{- define "rota.labels" -}}
app.kubernetes.io/name: rota
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "rota.selector" -}}
app.kubernetes.io/name: rota
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "rota.image" -}}{{ .Values.image.repository }}:{{ .Values.image.tag }}{{- end }}
{{- define "rota.embedded" -}}{{ if not .Values.etcd.external.endpoints }}true{{ end }}{{- end }}
{{- /* Volumes are claimed unless the cluster can be asked and has no StorageClass. */ -}}
{{- define "rota.persistent" -}}
{{- if kindIs "bool" .Values.persistence.enabled -}}
{{- if .Values.persistence.enabled }}true{{ end -}}
{{- else if not (lookup "v1" "Namespace" "" "kube-system") -}}true
{{- else if (lookup "storage.k8s.io/v1" "StorageClass" "" "").items -}}true
{{- end -}}
{{- end }}
{{- define "rota.cluster" -}}
{{- $name := .Release.Name -}}
{{- range $i := until (int (.Values.etcd.members | default .Values.replicas)) -}}
{{- if $i }},{{ end }}{{ $name }}-{{ $i }}=https://{{ $name }}-{{ $i }}.{{ $name }}-peers:2380
{{- end -}}
{{- end }}
{{- /* Names of every replica that the schema allows, so that growing needs no new certificate. */ -}}
{{- define "rota.hosts" -}}
{{- $name := .Release.Name -}}
{{- range $i := until 9 }}
{{ $name }}-{{ $i }}.{{ $name }}-peers
{{- end }}
{{ $name }}-peers
{{ $name }}
{{- end }}
{{- define "rota.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "rota.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
{{- /* Settings of both kinds of processes, without the list of members: a change of these restarts the pods. */ -}}
{{- define "rota.settings" -}}
node: {data_dir: /var/lib/rota/data}
http:
  listen: 0.0.0.0:8470
  hosts: [{{ .Release.Name }}, {{ .Release.Name }}.{{ .Release.Namespace }}, {{ .Release.Name }}.{{ .Release.Namespace }}.svc, {{ .Release.Name }}-peers, "*.{{ .Release.Name }}-peers"]
  tls: {cert: /etc/rota/tls/tls.crt, key: /etc/rota/tls/tls.key, client_ca: /etc/rota/tls/ca.crt}
auth: {mode: required, file: /etc/rota/auth/auth.yaml}
{{- if not (include "rota.embedded" .) }}
etcd:
  endpoints: {{ toJson .Values.etcd.external.endpoints }}
  {{- if .Values.etcd.external.secret }}
  tls: {cert: /etc/rota/etcd/tls.crt, key: /etc/rota/etcd/tls.key, ca: /etc/rota/etcd/ca.crt}
  {{- end }}
  {{- if .Values.etcd.external.username }}
  username: {{ .Values.etcd.external.username | quote }}
  password_file: /etc/rota/etcd-password/password
  {{- end }}
{{- end }}
{{- end }}
{{- define "rota.replicaSettings" -}}
{{- $s := fromYaml (include "rota.settings" .) -}}
{{- if include "rota.embedded" . }}
{{- $_ := set $s "etcd" (dict "embedded" (dict "rejoin" "auto" "tls" (dict "cert" "/etc/rota/etcd/tls.crt" "key" "/etc/rota/etcd/tls.key" "ca" "/etc/rota/etcd/ca.crt"))) -}}
{{- end }}
{{- $_ := set $s "jobs" "/etc/rota/jobs.d" -}}
{{- if .Values.workers.enabled }}{{- $_ := set $s "worker" (dict "enabled" false) -}}{{- end }}
{{- toYaml (mergeOverwrite $s (deepCopy .Values.settings)) -}}
{{- end }}
{{- define "rota.workerSettings" -}}
{{- $s := fromYaml (include "rota.settings" .) -}}
{{- if include "rota.embedded" . }}
{{- $name := .Release.Name -}}
{{- $urls := list -}}
{{- /* The first three never leave while there are three, so growing and shrinking restart no worker. */ -}}
{{- range $i := until (int (min 3 (int .Values.replicas))) }}{{- $urls = append $urls (printf "https://%s-%d.%s-peers:2379" $name $i $name) -}}{{- end }}
{{- $_ := set $s "etcd" (dict "endpoints" $urls "tls" (dict "cert" "/etc/rota/etcd/tls.crt" "key" "/etc/rota/etcd/tls.key" "ca" "/etc/rota/etcd/ca.crt")) -}}
{{- end }}
{{- $worker := dict "capacity" .Values.workers.capacity "labels" .Values.workers.labels -}}
{{- if .Values.workers.kubernetes.enabled }}
{{- $_ := set $worker "kinds" (list "command" "http" "handler" "kubernetes") -}}
{{- $_ := set $worker "kubernetes" (dict "namespaces" (include "rota.jobNamespaces" . | fromJsonArray)) -}}
{{- end }}
{{- $_ := set $s "worker" $worker -}}
{{- toYaml (mergeOverwrite $s (deepCopy .Values.settings)) -}}
{{- end }}
{{- define "rota.jobNamespaces" -}}
{{- toJson (.Values.workers.kubernetes.namespaces | default (list .Release.Namespace)) -}}
{{- end }}
{{- define "rota.commonEnv" -}}
- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: ROTA_NODE_NAME, value: $(POD_NAME)}
- {name: ROTA_CONFIG, value: /etc/rota/settings/rota.yaml}
# For commands in the pod, and for the probes.
- {name: ROTA_SERVER, value: "https://localhost:8470"}
- {name: ROTA_CACERT, value: /etc/rota/tls/ca.crt}
- {name: ROTA_CERT, value: /etc/rota/tls/tls.crt}
- {name: ROTA_CERT_KEY, value: /etc/rota/tls/tls.key}
{{- end }}
{{- define "rota.probes" -}}
startupProbe:
  exec: {command: [/rota, health, --timeout, 5s]}
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: 60
livenessProbe:
  exec: {command: [/rota, health, --timeout, 5s]}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 6
readinessProbe:
  exec: {command: [/rota, health, --ready, --timeout, 3s]}
  periodSeconds: 5
  timeoutSeconds: 6
{{- end }}
