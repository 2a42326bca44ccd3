// Package kubernetes tests rota on Kubernetes.
//
// It renders the Helm chart, from which the manifests come, and runs jobs as pods on a real node.
//
// node.sh makes the node. It needs root, Docker's engine, and programs whose build takes minutes: make kubernetes-test. Other targets
// skip the tests of the node.
package kubernetes
