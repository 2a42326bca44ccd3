//go:build !race

package sim

// defaultSeeds is how many clusters a plain `go test` simulates.
const defaultSeeds = 30

// fewJobs is of how many jobs it replays a day.
const fewJobs = 4
