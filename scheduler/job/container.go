package job

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Container is a container that the engine of the worker's machine runs. Entrypoint, Command and the job's Env may hold ${env:}
// and ${file:} references, which the worker resolves.
type Container struct {
	Image      string   `json:"image"`
	Pull       Pull     `json:"pull,omitempty"`       // when the engine pulls the image
	Entrypoint []string `json:"entrypoint,omitempty"` // nil: that of the image
	Command    []string `json:"command,omitempty"`    // nil: that of the image
	User       string   `json:"user,omitempty"`       // empty: that of the image
	Network    string   `json:"network,omitempty"`    // empty: the engine's default
	Volumes    []string `json:"volumes,omitempty"`    // SOURCE:TARGET[:OPTIONS], as the engine reads them
}

// LimitedByWorker lists the resources that the worker itself must be able to limit: see Resources.Kinds. The engine limits those of
// a container.
func (s *Spec) LimitedByWorker() []string {
	if s.Container != nil {
		return nil
	}
	return s.Resources.Kinds()
}

// withDefaults returns a copy of c in which everything that has a default is set.
func (c Container) withDefaults() *Container {
	setDefault(&c.Pull, PullMissing)
	return &c
}

func (c *Container) check() error {
	err := cmp.Or(CheckImage(c.Image), known("container.pull", c.Pull, Pulls()))
	for _, v := range c.Volumes {
		err = cmp.Or(err, CheckVolume(v))
	}
	return err
}

// CheckImage returns an error if text cannot be the name of an image.
func CheckImage(text string) error {
	if text == "" || strings.ContainsAny(text, " \t\n") || strings.HasPrefix(text, "-") {
		return fmt.Errorf("image %.80q is no name of an image", text)
	}
	return nil
}

// CheckVolume returns an error unless text is SOURCE:TARGET or SOURCE:TARGET:OPTIONS. SOURCE is an absolute path of the engine's
// machine or the name of a volume. TARGET is an absolute path in the container.
func CheckVolume(text string) error {
	parts := strings.Split(text, ":")
	switch {
	case len(parts) != 2 && len(parts) != 3:
		return fmt.Errorf("volume %.80q is not SOURCE:TARGET or SOURCE:TARGET:ro", text)
	case parts[0] == "" || !path.IsAbs(parts[0]) && strings.Contains(parts[0], "/"):
		return fmt.Errorf("volume %.80q has the source %.80q, which is neither an absolute path nor the name of a volume", text, parts[0])
	case !path.IsAbs(parts[1]) || path.Clean(parts[1]) == "/":
		return errors.New("volume " + text + " has a target that is no absolute path below /")
	}
	return nil
}
