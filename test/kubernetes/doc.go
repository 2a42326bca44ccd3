// Package kubernetes tests rota on Kubernetes.
//
// It renders the Helm chart, from which the manifests come. On a real node it runs the manifests, a release by Helm, and jobs as pods.
//
// node.sh makes the node. It needs root, Docker's engine, and programs whose build takes minutes: make kubernetes-test. Other targets
// skip the tests of the node.
package kubernetes
