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
		{"name with a space", Config{Dir: "d", Name: "a b"}, `name "a b"`},
		{"name with an equals sign", Config{Dir: "d", Name: "a=b"}, `name "a=b"`},
		{"empty name in the cluster", Config{Dir: "d", Name: "q1", Cluster: "q1=http://a:1,=http://b:1"}, "name=http://host:2380"},
		{"url twice", Config{Dir: "d", Name: "q1", Cluster: "q1=http://a:1,q2=http://a:1"}, "repeats"},
		{"url without host", Config{Dir: "d", Client: "http://:1"}, "http://host:port"},
		{"url with a path", Config{Dir: "d", Client: "http://h:1/x"}, "http://host:port"},
		{"url with a slash at its end", Config{Dir: "d", Client: "http://h:1/"}, ""},
		{"key without cert", Config{Dir: "d", Client: "https://h:1", ClientTLS: TLS{Key: "k"}}, "both"},
		{"ca without https", Config{Dir: "d", ClientTLS: TLS{CA: "a"}}, "say https"},
		{"plain while tls is optional", Config{Dir: "d", ClientTLS: TLS{Cert: "c", Key: "k"}, Optional: true}, ""},
		{"another scheme", Config{Dir: "d", Client: "ftp://h:1"}, "http://host:port"},
		{"listen on an address", Config{Dir: "d", Client: "http://h:1", ListenClient: "http://10.1.2.3:1"}, ""},
		{"listen on localhost", Config{Dir: "d", Client: "http://h:1", ListenClient: "http://localhost:1"}, ""},
		{"bad listen url", Config{Dir: "d", Client: "http://h:1", ListenClient: "localhost:1"}, "listen_client"},
		{"election of five heartbeats", Config{Dir: "d", Heartbeat: 10 * time.Millisecond, Election: 50 * time.Millisecond}, ""},
		{"election of 50s", Config{Dir: "d", Election: 50 * time.Second}, ""},
		{"election beyond 50s", Config{Dir: "d", Election: 51 * time.Second}, "at most 50s"},
		{"a part of a millisecond of heartbeat", Config{Dir: "d", Heartbeat: 10500 * time.Microsecond}, "whole milliseconds"},
		{"a part of a millisecond of election", Config{Dir: "d", Election: 1000500 * time.Microsecond}, "whole milliseconds"},
		{"retention of a second", Config{Dir: "d", CompactionRetention: time.Second}, ""},
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

// Package store relies on the limits of requests, and catching up on the numbers of commits.
func TestWhatEtcdIsTold(t *testing.T) {
	t.Parallel()
	tls := TLS{Cert: "c", Key: "k", CA: "a", Names: []string{"localhost"}}
	c := Config{Name: "q1", Dir: "d", Client: "https://q1:2379", Peer: "https://q1:2380", ClientTLS: tls, PeerTLS: TLS{Cert: "p", Key: "q"}}
	e := c.withDefaults().etcd()
	for what, same := range map[string]bool{
		"name and directory":   e.Name == "q1" && e.Dir == "d",
		"times":                e.TickMs == 100 && e.ElectionMs == 1000,
		"limits of a request":  e.MaxTxnOps == MaxTxnOps && e.MaxRequestBytes == MaxRequestBytes,
		"quota":                e.QuotaBackendBytes == DefaultQuotaBytes,
		"commits in memory":    e.SnapshotCount == DefaultSnapshotCount && e.SnapshotCatchUpEntries == catchUpCommits,
		"compaction":           e.AutoCompactionMode == "periodic" && e.AutoCompactionRetention == "5m0s",
		"fsync":                !e.UnsafeNoFsync,
		"changes of members":   e.StrictReconfigCheck && e.PreVote,
		"token and state":      e.InitialClusterToken == clusterToken && e.ClusterState == "new",
		"one url for clients":  len(e.ListenClientUrls) == 1 && e.ListenClientUrls[0].String() == "https://0.0.0.0:2379",
		"clients authenticate": e.ClientTLSInfo.ClientCertAuth && e.ClientTLSInfo.TrustedCAFile == "a" && e.ClientTLSInfo.CertFile == "c",
		"names of clients":     len(e.ClientTLSInfo.AllowedHostnames) == 1,
		"peers without a ca":   !e.PeerTLSInfo.ClientCertAuth && e.PeerTLSInfo.CertFile == "p" && e.PeerTLSInfo.KeyFile == "q",
	} {
		if !same {
			t.Errorf("%s: etcd gets another value", what)
		}
	}
	c.Optional, c.NoSync = true, true
	if e = c.withDefaults().etcd(); len(e.ListenClientUrls) != 2 || e.ListenClientUrls[1].String() != "http://0.0.0.0:2379" || !e.UnsafeNoFsync {
		t.Errorf("with optional TLS and without sync: got %v, %t", e.ListenClientUrls, e.UnsafeNoFsync)
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
	c = Config{Dir: "d", Name: "q1", Client: "http://q1:2379/", Peer: "http://q1:2380/"}
	if e = c.withDefaults().etcd(); e.InitialCluster != "q1=http://q1:2380" || e.AdvertiseClientUrls[0].String() != "http://q1:2379" || e.AdvertisePeerUrls[0].String() != "http://q1:2380" {
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
