// Package deploy proves the container image and a cluster of three containers: that it comes up, and that it keeps its
// promises while a container is killed and another one is cut off from the network.
//
// It needs a Docker engine, pulls nothing, publishes ports on loopback only, and removes all that it has made. Without
// Docker its tests are skipped, and fail if ROTA_CI is 1.
package deploy
