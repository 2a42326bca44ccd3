// Package kubernetes tests the Helm chart of rota, from which its manifests are rendered.
package kubernetes
