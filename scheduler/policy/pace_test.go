package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/policy"
)

func TestPaceKeepsAttemptsApart(t *testing.T) {
	const interval = 100 * time.Millisecond
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var p policy.Pace
		var begins []time.Time
		now := epoch
		for i := range 100 {
			now = now.Add(time.Duration(r.IntN(80)) * time.Millisecond)
			p.Forget(now, interval)
			from := now
			if r.IntN(3) == 0 { // armed ahead
				from = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			}
			at := p.Next(from, interval)
			if at.Before(from) {
				t.Fatalf("seed %d: next is %v before %v", seed, at, from)
			}
			if at.Equal(p.Next(from, interval)) && r.IntN(4) > 0 {
				p.Add(fmt.Sprint("run", i), 1, at.Add(time.Millisecond))
				p.Add(fmt.Sprint("run", i), 1, at) // a second Add replaces the first
				begins = append(begins, at)
			}
		}
		slices.SortFunc(begins, time.Time.Compare)
		for i := 1; i < len(begins); i++ {
			if d := begins[i].Sub(begins[i-1]); d < interval {
				t.Fatalf("seed %d: two begin within %v", seed, d)
			}
		}
	}
}

func TestPaceWaitsNoLongerThanNeeded(t *testing.T) {
	at := func(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }
	var p policy.Pace
	if got := p.Next(at(0), time.Second); got != at(0) {
		t.Errorf("the first begins at %v", got)
	}
	p.Add("a", 1, at(0))
	p.Add("b", 1, at(1900))
	p.Add("b", 1, at(2500)) // armed ahead, and later than before
	for from, want := range map[int]int{-1000: -1000, -999: 1000, 0: 1000, 1000: 1000, 1500: 1500, 1501: 3500, 2500: 3500, 4000: 4000} {
		if got := p.Next(at(from), time.Second); got != at(want) {
			t.Errorf("from %d: got %v, want %v", from, got.Sub(epoch), at(want).Sub(epoch))
		}
	}
	p.Remove("b", 2)
	if got := p.Next(at(2000), time.Second); got != at(3500) {
		t.Errorf("another attempt was removed, and next is %v", got.Sub(epoch))
	}
	p.Remove("b", 1)
	if got := p.Next(at(2000), time.Second); got != at(2000) {
		t.Errorf("it was removed, and next is %v", got.Sub(epoch))
	}
	p.AddEnded(at(600))
	p.AddEnded(at(-100))
	if got := p.Next(at(1000), time.Second); got != at(1600) {
		t.Errorf("after one that has ended, next is %v", got.Sub(epoch))
	}
	if got := p.Next(at(500), 0); got != at(500) {
		t.Errorf("without a bound, next is %v", got.Sub(epoch))
	}
	var last policy.Pace
	last.AddEnded(at(600))
	if got := last.Next(at(-400), time.Second); got != at(-400) {
		t.Errorf("just early enough for one that has ended, next is %v", got.Sub(epoch))
	}
}
