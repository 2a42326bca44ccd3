// Package deploy tests the container image in clusters of containers.
//
// The cluster must start, and keep its promises while one container is killed and another one is partitioned. Clusters with TLS
// refuse clients without a certificate and without a role. The tests need a Docker engine, pull nothing, publish ports on loopback
// only, and remove everything. Without Docker they are skipped; with ROTA_CI=1 they fail.
package deploy
