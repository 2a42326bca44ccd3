package web

import "testing"

func TestDigitsAreGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 1440: "1440", 86_400: "86,400", 907_207: "907,207", 2_592_000: "2,592,000"} {
		if got := digits(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
