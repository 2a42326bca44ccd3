package sim

import (
	"math/rand/v2"
	"time"
)

// dice is a source of randomness for one purpose, independent of all other purposes.
type dice struct{ *rand.Rand }

// mix hashes words in the same way in every process, unlike hash/maphash.
func mix(seed uint64, words ...any) uint64 {
	const prime = 1099511628211
	h := seed*0x9e3779b97f4a7c15 + 14695981039346656037
	for _, w := range words {
		switch w := w.(type) {
		case string:
			for i := range len(w) {
				h = (h ^ uint64(w[i])) * prime
			}
		case int:
			h = (h ^ uint64(w)) * prime
		case int64:
			h = (h ^ uint64(w)) * prime
		case uint64:
			h = (h ^ w) * prime
		}
		h ^= h >> 29
	}
	return h
}

// throw returns the dice for a purpose.
func throw(seed uint64, purpose ...any) dice {
	h := mix(seed, purpose...)
	return dice{rand.New(rand.NewPCG(h, seed))}
}

func (d dice) chance(p float64) bool { return d.Float64() < p }

// upTo returns a time in [0, limit].
func (d dice) upTo(limit time.Duration) time.Duration {
	return time.Duration(d.Int64N(int64(limit) + 1))
}

// between returns a time in [from, to].
func (d dice) between(from, to time.Duration) time.Duration { return from + d.upTo(to-from) }

// either returns a time in [-limit, limit].
func (d dice) either(limit time.Duration) time.Duration { return d.between(-limit, limit) }

// aroundSlot returns an instant at or after at, sometimes just before or after a whole second. Most slots are there, and runs
// that are armed ahead are claimed there.
func aroundSlot(d dice, at time.Time) time.Time {
	if near := at.Truncate(time.Second).Add(time.Second + d.either(200*time.Millisecond)); near.After(at) && d.chance(0.3) {
		return near
	}
	return at
}

func oneOf[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }
