package etcdconn

import "testing"

func TestVersionsOfEtcd(t *testing.T) {
	for version, want := range map[string]struct{ recent, counts bool }{
		"2.3.8":         {false, false},
		"3.4.99":        {false, false},
		"3.5.27":        {false, false},
		"3.5.28":        {true, false},
		"3.5.33":        {true, true},
		"3.6.8":         {false, false},
		"3.6.13":        {true, false},
		"3.6.14":        {true, true},
		"3.7.0":         {true, false},
		"3.7.1-rc.0":    {true, true},
		"3.8.0-alpha.0": {true, true},
		"4.0.0":         {true, true},
		"main":          {true, true},
	} {
		if got := recent(version); got != want.recent {
			t.Errorf("%s: recent %t, want %t", version, got, want.recent)
		}
		if got := CountsNested(version); got != want.counts {
			t.Errorf("%s: counts %t, want %t", version, got, want.counts)
		}
	}
}
