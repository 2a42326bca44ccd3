//go:build race

package sim

// defaultSeeds is how many clusters a plain `go test -race` simulates.
const defaultSeeds = 6

// fewJobs is of how many jobs it replays a day.
const fewJobs = 1
