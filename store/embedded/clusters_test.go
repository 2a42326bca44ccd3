package embedded

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// etcd forms the cluster with the ID that the settings predict, whatever the order of the list.
func TestTheIDOfAFormedCluster(t *testing.T) {
	t.Parallel()
	cfgs := trio(t)
	want := startAll(t, cfgs)[0].etcd.Server.Cluster().ID().String()
	entries := strings.Split(cfgs[0].Cluster, ",")
	slices.Reverse(entries)
	for _, list := range []string{cfgs[0].Cluster, strings.Join(entries, " , ")} {
		if got := (Config{Name: "q1", Cluster: list}).formedID(); got != want {
			t.Errorf("%q: got %s, want %s", list, got, want)
		}
	}
}

func TestClustersOfTheListedMembers(t *testing.T) {
	t.Parallel()
	serve := func(id string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if id == "" {
				w.Header().Set(freshHeader, "true") // no data yet
				return
			}
			w.Header().Set("X-Etcd-Cluster-Id", id)
			_, _ = io.WriteString(w, "[]")
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	c := Config{Cluster: "q1=" + serve("abc") + ",q2=" + serve("def") + ",q3=" + serve("") + ",q4=http://127.0.0.1:1"}
	got, err := c.Clusters(t.Context())
	if want := map[string]string{"q1": "abc", "q2": "def"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
