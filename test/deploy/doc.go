// Package deploy tests the container image in a cluster of three containers.
//
// The cluster must start, and keep its promises while one container is killed and another one is partitioned. The tests need a
// Docker engine, pull nothing, publish ports on loopback only, and remove everything. Without Docker they are skipped; with
// ROTA_CI=1 they fail.
package deploy
