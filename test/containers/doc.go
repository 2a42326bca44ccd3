// Package containers tests the executor of containers on Docker's engine.
//
// The engine is dockerd with its own directories and socket, so that tests restart it. Images hold one program of the tests, and
// nothing is pulled. Without dockerd or root the tests are skipped; with ROTA_CI=1 they fail.
package containers
