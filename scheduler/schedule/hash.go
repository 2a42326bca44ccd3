package schedule

import (
	"hash/fnv"
	"io"
	"math/bits"
)

// Salts keep the numbers that one job draws independent of each other. Fields of an expression use their index.
const jitterSalt = 0xff

// draw returns a number in [0, n) that depends on seed and salt alone. It must never change: the times of every job
// with H or jitter hang on it.
func draw(seed string, salt byte, n uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{salt}) // hash.Hash never returns an error
	_, _ = io.WriteString(h, seed)
	hi, _ := bits.Mul64(mix(h.Sum64()), n)
	return hi
}

// mix spreads every input bit over the whole word (the finalizer of MurmurHash3): FNV alone leaves the names job-1
// and job-2 next to each other.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}
