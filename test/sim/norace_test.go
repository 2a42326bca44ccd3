//go:build !race

package sim

// defaultSeeds is how many clusters a plain `go test` simulates.
const defaultSeeds = 30
