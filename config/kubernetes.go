package config

import (
	"encoding/json"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

var kubernetesKeys = tableOf(*job.Spec{Kubernetes: &job.Kubernetes{}}.WithDefaults().Kubernetes,
	key("image", word(maxURL), func(k *job.Kubernetes) *string { return &k.Image },
		"registry.internal/report:7", "The image of the container.", required),
	key("pull", choiceOf(job.Pulls()), func(k *job.Kubernetes) *job.Pull { return &k.Pull },
		"always", "When the node pulls the image: always, if it is missing, or never.", zero("Kubernetes decides by the tag.")),
	key("command", listOf(argument(maxText, ref("word"), plain), inFlow), func(k *job.Kubernetes) *[]string { return &k.Command },
		"[/report]", "The program in the container. Kubernetes replaces $(NAME) by a variable.", zero("The entrypoint of the image.")),
	key("args", listOf(argument(maxText, ref("word"), plain), inFlow), func(k *job.Kubernetes) *[]string { return &k.Args },
		"[--month, $(ROTA_PARAM_MONTH)]", "The arguments of the program. Kubernetes replaces $(NAME) by a variable.",
		zero("The arguments of the image.")),
	key("namespace", word(maxDescription), func(k *job.Kubernetes) *string { return &k.Namespace },
		"reports", "The namespace of the Job. The worker's setting worker.kubernetes.namespaces must name it.",
		zero("The first namespace of the worker.")),
	key("service_account", word(maxDescription), func(k *job.Kubernetes) *string { return &k.ServiceAccount },
		"report", "The account of the pod. Without one, the pod gets no token.", zero("The default account, without its token.")),
	key("resources", data((*reader).fail), func(k *job.Kubernetes) *json.RawMessage { return &k.Resources },
		"{limits: {memory: 512Mi}}", "The resources of the container, as Kubernetes writes them.", zero("No requests and no limits.")),
	key("template", data((*reader).fail), func(k *job.Kubernetes) *json.RawMessage { return &k.Template },
		"{spec: {nodeSelector: {disk: ssd}}}", "A pod template of Kubernetes, to which rota adds the container job.",
		zero("The pod has only the container job.")),
	key("start_timeout", span(job.StartTimeoutRange), func(k *job.Kubernetes) *job.Duration { return &k.StartTimeout },
		"2m", "How long the pod may take until its container starts."),
)

// checkKubernetes reports a missing image, and references where no worker replaces them.
func checkKubernetes(r *reader, n *yaml.Node, k *job.Kubernetes, _ bool) {
	if child(n, "image") == nil {
		r.failAbsent(n, "image", "add image: registry/name:tag", "kubernetes has no image")
	}
	for key, list := range map[string][]string{"command": k.Command, "args": k.Args} {
		for _, text := range list {
			if referenceStart.MatchString(text) {
				r.fail(child(n, key), "put it into env, and write $(NAME)",
					"kubernetes.%s has a reference, which everybody who reads the Job would see", key)
			}
		}
	}
}
