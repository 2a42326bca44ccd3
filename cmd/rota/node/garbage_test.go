package node

import "testing"

func TestGrowthIsBounded(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 96 << 20: 400, 384 << 20: 100, 512 << 20: 75, 8 << 30: 50} {
		if got := growth(live); got != want {
			t.Errorf("growth(%d MiB) = %d, want %d", live>>20, got, want)
		}
	}
}
