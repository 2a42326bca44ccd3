package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"
)

// Kubernetes is a Job of Kubernetes to create, with one pod that runs once.
type Kubernetes struct {
	Image          string          `json:"image"`
	Pull           Pull            `json:"pull,omitempty"`      // "": Kubernetes decides by the tag of Image
	Command        []string        `json:"command,omitempty"`   // nil: the entrypoint of Image
	Args           []string        `json:"args,omitempty"`      // nil: the arguments of Image, if there is no Command
	Namespace      string          `json:"namespace,omitempty"` // "": the first namespace of the worker
	ServiceAccount string          `json:"service_account,omitempty"`
	Resources      json.RawMessage `json:"resources,omitempty"` // as in a container of Kubernetes
	Template       json.RawMessage `json:"template,omitempty"`  // a pod template of Kubernetes, to which the fields above are added
	StartTimeout   Duration        `json:"start_timeout,omitempty"`
}

// Pull says when the image of a pod is pulled.
type Pull string

// The values of Pull.
const (
	PullAlways  Pull = "always"
	PullMissing Pull = "missing" // if the node does not have it
	PullNever   Pull = "never"
)

// Pulls lists every Pull.
func Pulls() []Pull { return []Pull{PullAlways, PullMissing, PullNever} }

// DefaultStartTimeout is how long the pod of a Kubernetes Job may take until its container starts.
const DefaultStartTimeout = Duration(5 * time.Minute)

// StartTimeoutRange is the range of Kubernetes.StartTimeout.
var StartTimeoutRange = Range[Duration]{Duration(time.Second), MaxDuration}

// withDefaults returns a copy of k in which everything that has a default is set.
func (k Kubernetes) withDefaults() *Kubernetes {
	setDefault(&k.StartTimeout, DefaultStartTimeout)
	return &k
}

func (k *Kubernetes) check() error {
	var err error
	if k.Image == "" {
		err = errors.New("kubernetes has no image")
	}
	return cmp.Or(err, known("kubernetes.pull", k.Pull, Pulls()), StartTimeoutRange.check("kubernetes.start_timeout", k.StartTimeout))
}
