package keyed_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/keyed"
)

func TestValuesComeInTheOrderOfTheirKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var h keyed.Heap[int64]
		h.Grow(random.IntN(10))
		var want []int64
		for range 300 {
			if h.Len() != len(want) {
				t.Fatalf("the heap has %d values, want %d", h.Len(), len(want))
			}
			if len(want) == 0 || random.IntN(3) > 0 {
				key := random.Int64N(100) - 50
				h.Push(key, -key)
				want = append(want, key)
				slices.Sort(want)
				continue
			}
			var ascending []int64
			for key := range h.Ascending() {
				if ascending = append(ascending, key); len(ascending) == 20 {
					break
				}
			}
			if !slices.Equal(ascending, want[:min(20, len(want))]) {
				t.Fatalf("the first keys are %v, want %v", ascending, want)
			}
			least, _ := h.Min()
			key, value := h.Pop()
			if least != key || key != want[0] || value != -key {
				t.Fatalf("got key %d (Min: %d) with value %d, want key %d", key, least, value, want[0])
			}
			want = want[1:]
		}
	}
}
