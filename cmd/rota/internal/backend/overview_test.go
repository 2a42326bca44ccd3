package backend

import "testing"

func TestContainsFold(t *testing.T) {
	for _, tc := range []struct {
		text, search string
		want         bool
	}{
		{"Dump the Database", "database", true}, {"Dump the Database", "dump", true}, {"Dump", "dumps", false}, {"", "a", false},
		{"Für alle KÜHE", "kühe", true}, {"warehouse", "ware", true}, {"aaab", "aab", true}, {"[x]", "{x}", false},
	} {
		if got := containsFold(tc.text, tc.search); got != tc.want {
			t.Errorf("%q contains %q: got %v, want %v", tc.text, tc.search, got, tc.want)
		}
	}
}
