//go:build race

package sim

// defaultSeeds is how many clusters a plain `go test -race` simulates.
const defaultSeeds = 6
