// Package kubeapi calls the API server of the Kubernetes cluster that this process runs in.
//
// It uses plain HTTP requests. The few that rota needs do not justify client-go, which would double the size of the binary.
package kubeapi
