// Package kubeapi calls the API server of a Kubernetes cluster.
//
// It uses plain HTTP requests. The few that rota needs do not justify client-go, which would double the size of the binary.
package kubeapi
