package embedded

import (
	"net/url"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	const three = "q1=http://q1:2380,q2=http://q2:2380,q3=http://q3:2380"
	tests := []struct {
		name string
		cfg  Config
		want string // part of the error; empty: no error
	}{
		{"only a dir", Config{Dir: "d"}, ""},
		{"one of three", Config{Dir: "d", Name: "q1", Cluster: three}, ""},
		{"one of three with its peer url", Config{Dir: "d", Name: "q1", Peer: "http://q1:2380", Cluster: three}, ""},
		{"tls", Config{Dir: "d", Client: "https://h:2379", ClientTLS: TLS{Cert: "c", Key: "k", CA: "a"}}, ""},
		{"no dir", Config{}, "dir is empty"},
		{"bad name", Config{Dir: "d", Name: "a,b"}, `name "a,b"`},
		{"not in the cluster", Config{Dir: "d", Name: "q9", Cluster: three}, `does not list this member, "q9"`},
		{"another peer url", Config{Dir: "d", Name: "q1", Peer: "http://x:2380", Cluster: three}, "differs from"},
		{"bad cluster entry", Config{Dir: "d", Name: "q1", Cluster: "q1"}, "name=http://host:2380"},
		{"name twice", Config{Dir: "d", Name: "q1", Cluster: "q1=http://a:1,q1=http://b:1"}, "repeats"},
		{"peer port 0 in a cluster", Config{Dir: "d", Name: "q1", Cluster: "q1=http://a:0,q2=http://b:1"}, "port 0"},
		{"url without port", Config{Dir: "d", Client: "http://127.0.0.1"}, "http://host:port"},
		{"url without scheme", Config{Dir: "d", Client: "127.0.0.1:2379"}, "client"},
		{"https without cert", Config{Dir: "d", Client: "https://h:1"}, "needs a tls cert"},
		{"cert without https", Config{Dir: "d", ClientTLS: TLS{Cert: "c", Key: "k"}}, "say https"},
		{"cert without key", Config{Dir: "d", Client: "https://h:1", ClientTLS: TLS{Cert: "c"}}, "both"},
		{"listen on a name", Config{Dir: "d", Client: "http://h:1", ListenClient: "http://h:1"}, "IP address"},
		{"listen with another scheme", Config{Dir: "d", ListenClient: "https://127.0.0.1:1"}, "scheme"},
		{"election below five heartbeats", Config{Dir: "d", Heartbeat: time.Second, Election: 2 * time.Second}, "five heartbeats"},
		{"heartbeat too short", Config{Dir: "d", Heartbeat: time.Millisecond}, "at least 10ms"},
		{"retention too short", Config{Dir: "d", CompactionRetention: time.Millisecond}, "compaction_retention"},
		{"negative quota", Config{Dir: "d", QuotaBytes: -1}, "quota_bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.cfg.Validate()
			if tt.want == "" {
				if err != nil {
					t.Errorf("got %v, want none", err)
				}
				return
			}
			wantError(t, err, tt.want)
		})
	}
}

func TestAMemberListensOnItsAddressUnlessThatIsAName(t *testing.T) {
	t.Parallel()
	tests := []struct{ advertise, listen, want string }{
		{"http://127.0.0.1:2379", "", "http://127.0.0.1:2379"},
		{"http://10.1.2.3:2379", "", "http://10.1.2.3:2379"},
		{"http://[::1]:2379", "", "http://[::1]:2379"},
		{"http://localhost:2379", "", "http://127.0.0.1:2379"},
		{"http://q1:2380", "", "http://0.0.0.0:2380"},
		{"http://q1:2380", "http://10.1.2.3:99", "http://10.1.2.3:99"},
	}
	for _, tt := range tests {
		a, err := url.Parse(tt.advertise)
		if err != nil {
			t.Fatal(err)
		}
		l, err := url.Parse(tt.listen)
		if err != nil {
			t.Fatal(err)
		}
		if got := listenURL(*a, *l); got.String() != tt.want {
			t.Errorf("listenURL(%q, %q): got %s, want %s", tt.advertise, tt.listen, got.String(), tt.want)
		}
	}
}

// A list that is written with spaces or over several lines, and URLs with a slash at the end, mean the same to etcd.
func TestAListForEtcdHasNoSpacesAndSlashes(t *testing.T) {
	t.Parallel()
	const list = "q1=http://q1:2380, q2=http://q2:2380/ ,\n q3 = http://q3:2380"
	c := Config{Dir: "d", Name: "q2", Peer: "http://q2:2380/", Cluster: list}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	e := c.withDefaults().etcd()
	if want := "q1=http://q1:2380,q2=http://q2:2380,q3=http://q3:2380"; e.InitialCluster != want {
		t.Errorf("got %q, want %q", e.InitialCluster, want)
	}
	c = Config{Dir: "d", Name: "q1", Peer: "http://q1:2380/"}
	if e = c.withDefaults().etcd(); e.InitialCluster != "q1=http://q1:2380" || e.AdvertisePeerUrls[0].String() != "http://q1:2380" {
		t.Errorf("alone: got %q at %v", e.InitialCluster, e.AdvertisePeerUrls)
	}
}

// etcd ends a process that may open few files, without a word of rota.
func TestAProcessMayOpenEnoughFiles(t *testing.T) {
	t.Parallel()
	wantError(t, checkFiles(64), "this process may open 64 files")
	if err := checkFiles(openFiles()); err != nil {
		t.Error(err)
	}
}
