package kubeapi

import (
	"context"
	"net/http"
)

// Secret is a Secret of Kubernetes.
type Secret struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   Metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data"`
}

// Metadata identifies an object.
type Metadata struct {
	Name            string            `json:"name"`
	ResourceVersion string            `json:"resourceVersion,omitempty"` // the state that a replacement replaces
	Labels          map[string]string `json:"labels,omitempty"`
}

func (c *Client) secrets() string { return "/api/v1/namespaces/" + c.Namespace + "/secrets" }

// Secret returns a Secret in the namespace of this pod. The error wraps ErrNotFound if there is none.
func (c *Client) Secret(ctx context.Context, name string) (s Secret, err error) {
	return s, c.Call(ctx, http.MethodGet, c.secrets()+"/"+name, nil, &s)
}

// PutSecret creates s, or replaces the version of it that was read. The error wraps ErrConflict if somebody else was faster.
func (c *Client) PutSecret(ctx context.Context, s Secret) error {
	s.APIVersion, s.Kind = "v1", "Secret"
	if s.Metadata.ResourceVersion == "" {
		return c.Call(ctx, http.MethodPost, c.secrets(), s, nil)
	}
	return c.Call(ctx, http.MethodPut, c.secrets()+"/"+s.Metadata.Name, s, nil)
}
