package doctor_test

import (
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var now = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// healthy returns the facts about a cluster in which nothing is wrong.
func healthy() doctor.Facts {
	f := doctor.Facts{
		Now: now,
		Machine: &doctor.Machine{
			DataDir: "/var/lib/rota", Sync: time.Millisecond, Free: 50 << 30, Total: 100 << 30, Descriptors: 65536,
			Settings: doctor.Settings{
				Node: "q1", TTL: 5 * time.Second, MaxClockOffset: 500 * time.Millisecond, ArmAhead: 2 * time.Second,
				Capacity: 64, Worker: true, Embedded: 3,
			},
		},
		Jobs: []*job.Job{{Name: "backup", Spec: &job.Spec{Shell: "true", Workers: map[string]string{"zone": "a"}}}},
		Served: []doctor.Served{{
			Where: "https://q1:8470", Cert: &x509.Certificate{NotBefore: now.Add(-time.Hour), NotAfter: now.Add(90 * 24 * time.Hour)},
		}},
	}
	for i, node := range []string{"q1", "q2", "q3"} {
		f.Members = append(f.Members, doctor.Member{
			Endpoint: "https://" + node + ":2379", Latency: time.Millisecond, Version: "3.7.2", ID: uint64(i + 1), Leader: 1,
			Size: 100 << 20, Used: 90 << 20, Quota: 2 << 30, Configured: 3,
		})
		f.Replicas = append(f.Replicas, &job.Replica{Name: node, Addr: node + ":8470", Version: "v0.2.0", FilesHash: "abc"})
		f.Answers = append(f.Answers, doctor.Answer{Node: node, Addr: node + ":8470", Ready: true})
		f.Workers = append(f.Workers, &job.Worker{Name: node, Version: "v0.2.0", Labels: map[string]string{"zone": "a"}})
	}
	return f
}

// TestFindings breaks one thing after the other. Each is found, and nothing else.
func TestFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(f *doctor.Facts)
		want   []string // a part of each finding, as "area subject text"
	}{
		"nothing": {func(*doctor.Facts) {}, nil},
		"a member that does not answer": {
			func(f *doctor.Facts) { f.Members[1].Err = errors.New("connection refused") },
			[]string{"etcd https://q2:2379 The member does not answer: connection refused."},
		},
		"a member that etcd lists as without a leader": {
			func(f *doctor.Facts) { f.Members[2].Leader, f.Members[2].Alarms = 0, []string{"etcdserver: no leader"} },
			[]string{"etcd https://q3:2379 The member knows no leader"},
		},
		"a member that is still in the cluster before a restore": {
			func(f *doctor.Facts) { f.Peers = []doctor.Peer{{"q1", "abc"}, {"q2", "abc"}, {"q3", "def"}} },
			[]string{"etcd  The members that etcd.embedded.cluster lists are in different clusters: abc (q1, q2), def (q3)."},
		},
		"lists of members that differ": {
			func(f *doctor.Facts) {
				f.Replicas[0].Members = []string{"q1=http://q1:2380"}
				f.Replicas[1].Members = []string{"q1=http://q1:2380", "q2=http://q2:2380"}
			},
			[]string{"replicas  The replicas list different members in etcd.embedded.cluster: q1=http://q1:2380 (q1), q1="},
		},
		"a slow member": {
			func(f *doctor.Facts) { f.Members[1].Latency = 150 * time.Millisecond },
			[]string{"etcd https://q2:2379 A read takes 150ms"},
		},
		"a member that is slower than the election allows": {
			func(f *doctor.Facts) { f.Members[1].Latency = time.Second },
			[]string{"etcd https://q2:2379 A read takes 1s", "settings election.ttl It is 5s, and https://q2:2379 takes 1s"},
		},
		"versions of etcd": {
			func(f *doctor.Facts) { f.Members[1].Version = "3.6.20" },
			[]string{"etcd  The members have different versions: 3.6.20 (https://q2:2379), 3.7.2 ("},
		},
		"an etcd that does not count": {
			func(f *doctor.Facts) { f.Members[0].OldQuota = true },
			[]string{"etcd https://q1:2379 etcd 3.7.2 does not count"},
		},
		"an alarm": {
			func(f *doctor.Facts) { f.Members[0].Alarms = []string{"memberID:1 alarm:NOSPACE"} },
			[]string{"etcd https://q1:2379 etcd has an alarm: memberID:1 alarm:NOSPACE."},
		},
		"the alarms of two members, which each member lists": {
			func(f *doctor.Facts) {
				for i := range f.Members {
					f.Members[i].Alarms = []string{"memberID:3  alarm:CORRUPT ", "memberID:2  alarm:NOSPACE "}
				}
			},
			[]string{"etcd https://q3:2379 etcd has an alarm: memberID:3  alarm:CORRUPT", "etcd https://q2:2379 etcd has an alarm: memberID:2"},
		},
		"a store that fills": {
			func(f *doctor.Facts) { f.Members[0].Size, f.Members[0].Used = 2<<30, 15<<27 },
			[]string{"etcd https://q1:2379 Its records use 93% of the quota."},
		},
		"a fragmented store": {
			func(f *doctor.Facts) { f.Members[0].Size, f.Members[0].Used = 1<<30, 100<<20 },
			[]string{"etcd https://q1:2379 90% of its file of 1024 MiB hold no records."},
		},
		"a member without a leader": {
			func(f *doctor.Facts) { f.Members[2].Leader = 0 },
			[]string{"etcd https://q3:2379 The member knows no leader"},
		},
		"an even number of members": {
			func(f *doctor.Facts) { f.Members[2].Configured, f.Machine.Settings.Embedded = 4, 4 },
			[]string{"etcd  etcd has 4 members", "settings etcd.embedded.cluster It names 4 members"},
		},
		"a replica that is not ready": {
			func(f *doctor.Facts) { f.Answers[0].Ready, f.Answers[0].Why = false, []string{"the store is silent"} },
			[]string{"replicas q1 The replica is not ready: the store is silent."},
		},
		"a replica that is gone": {
			func(f *doctor.Facts) {
				f.Replicas, f.Answers = f.Replicas[:2], f.Answers[:2]
				f.Answers[0].Absent = map[string]string{"q3": "missing"}
				f.Answers[1].Absent = map[string]string{"q3": "missing"}
			},
			[]string{"replicas q3 The replica is missing: the cluster tolerates fewer losses."},
		},
		"a replica at another address": {
			func(f *doctor.Facts) { f.Answers[0].Err = errors.New("no route") },
			[]string{"replicas q1 The replica is present in the store, but does not answer here at q1:8470: no route."},
		},
		"a replica that does not know the command": {
			func(f *doctor.Facts) { f.Answers[0].Err, f.Answers[0].Strange = errors.New("unknown authority"), true },
			[]string{"replicas q1 The replica was not asked at q1:8470: unknown authority."},
		},
		"an address that only one machine reaches": {
			func(f *doctor.Facts) { f.Replicas[2].Addr = "127.0.0.1:8470" },
			[]string{"replicas q3 It advertises 127.0.0.1:8470"},
		},
		"a clock": {
			func(f *doctor.Facts) {
				f.Answers[0].Clocks = []doctor.Clock{{Node: "q2", Offset: -800 * time.Millisecond}, {Node: "q3", Offset: time.Millisecond}}
				f.Answers[1].Clocks = []doctor.Clock{{Node: "q1", Offset: 800 * time.Millisecond}}
			},
			[]string{"clocks q2 Its clock is 800ms behind that of q1: a replica with such a clock does not lead."},
		},
		"a clock of the replica that sorts first": {
			func(f *doctor.Facts) {
				f.Answers[0].Clocks = []doctor.Clock{{Node: "q2", Offset: -5 * time.Hour}, {Node: "q3", Offset: -5 * time.Hour}}
				f.Answers[1].Clocks = []doctor.Clock{{Node: "q1", Offset: 5 * time.Hour}, {Node: "q3"}}
			},
			[]string{
				"clocks q1 Its clock is 5h0m0s ahead of that of q2: a replica with such a clock does not lead.",
				"clocks q1 Its clock is 5h0m0s ahead of that of q3: a replica with such a clock does not lead.",
			},
		},
		"versions": {
			func(f *doctor.Facts) { f.Replicas[0].Version = "v0.1.0" },
			[]string{"versions  The processes have different versions: v0.1.0 (q1), v0.2.0 (q2, q3)."},
		},
		"files": {
			func(f *doctor.Facts) {
				f.Replicas[0].FilesHash, f.Replicas[0].FilesNote = "def", "two jobs have one name"
			},
			[]string{"files q1 Its job files are not in force: two jobs", "files  The replicas have read different job files: abc (q2, q3), def (q1)."},
		},
		"a record": {
			func(f *doctor.Facts) {
				f.Unreadable = []doctor.Unreadable{{Key: "/rota/jobs/x", Err: errors.New("no JSON")}}
			},
			[]string{"records /rota/jobs/x The record is unreadable and ignored: no JSON."},
		},
		"a worker with a full disk": {
			func(f *doctor.Facts) {
				f.Workers = append(f.Workers, &job.Worker{
					Name: "w4", Labels: map[string]string{"zone": "b"}, Version: "v0.2.0", Draining: true, Broken: "the disk is full",
				})
				f.Jobs = append(f.Jobs, &job.Job{Name: "far", Spec: &job.Spec{Shell: "true", Workers: map[string]string{"zone": "b"}}})
			},
			[]string{
				"jobs far No worker accepts its runs: those with its labels drain: w4.",
				"workers w4 It takes no runs: the disk is full.",
			},
		},
		"a worker without a container engine": {
			func(f *doctor.Facts) {
				f.Workers = append(f.Workers, &job.Worker{
					Name: "w4", Version: "v0.2.0", Kinds: []string{"container"}, Away: map[string]string{"container": "no engine answers"},
				})
				f.Jobs = append(f.Jobs, &job.Job{Name: "far", Spec: &job.Spec{Container: &job.Container{Image: "busybox"}}})
			},
			[]string{
				"jobs far No worker accepts its runs: container jobs cannot start now on w4.",
				"workers w4 It takes no container jobs: no engine answers.",
			},
		},
		"a job with other labels": {
			func(f *doctor.Facts) {
				f.Jobs = append(f.Jobs, &job.Job{Name: "far", Spec: &job.Spec{Shell: "true", Workers: map[string]string{"zone": "b"}}})
			},
			[]string{"jobs far No worker accepts its runs: none has the labels zone=b."},
		},
		"a job with an absent handler": {
			func(f *doctor.Facts) {
				f.Jobs = append(f.Jobs, &job.Job{Name: "fn", Spec: &job.Spec{Handler: "bill"}})
			},
			[]string{"jobs fn No worker accepts its runs: none with its labels executes its handler ("},
		},
		"workers that may not run commands": {
			func(f *doctor.Facts) {
				for _, w := range f.Workers {
					w.Kinds = []string{"http"}
				}
			},
			[]string{
				"jobs backup No worker accepts its runs: none with its labels executes its shell (",
				"workers q1 No job", "workers q2 No job", "workers q3 No job",
			},
		},
		"a worker that no job matches": {
			func(f *doctor.Facts) { f.Workers = append(f.Workers, &job.Worker{Name: "w9", Version: "v0.2.0"}) },
			[]string{"workers w9 No job can run on it"},
		},
		"no worker": {
			func(f *doctor.Facts) { f.Workers = nil }, []string{"workers  No worker is present"},
		},
		"a certificate that ends": {
			func(f *doctor.Facts) { f.Served[0].Cert.NotAfter = now.Add(time.Hour) },
			[]string{"certificates https://q1:8470 The certificate expires at 2026-11-24T11:00:00Z."},
		},
		"a certificate that ended": {
			func(f *doctor.Facts) { f.Served[0].Cert.NotAfter = now.Add(-time.Hour) },
			[]string{"certificates https://q1:8470 The certificate expired at 2026-11-24T09:00:00Z."},
		},
		"a network that is half closed": {
			func(f *doctor.Facts) {
				f.Replicas[1].TLSOptional = []string{"http.tls.optional", "etcd.embedded.tls.optional"}
				f.Workers[1].TLSOptional = f.Replicas[1].TLSOptional // the worker of the same process
				f.Workers = append(f.Workers, &job.Worker{
					Name: "w1", Version: "v0.2.0", Labels: map[string]string{"zone": "a"}, TLSOptional: []string{"http.tls.optional"},
				})
			},
			[]string{
				"replicas q2 It also accepts connections without TLS: http.tls.optional, etcd.embedded.tls.optional.",
				"replicas w1 It also accepts connections without TLS: http.tls.optional.",
			},
		},
		"a disk": {
			func(f *doctor.Facts) { f.Machine.Sync, f.Machine.Free = 80*time.Millisecond, 100<<20 },
			[]string{"machine /var/lib/rota A small write takes 80ms", "machine /var/lib/rota 100 MiB are free (0%)."},
		},
		"descriptors": {
			func(f *doctor.Facts) { f.Machine.Descriptors = 1024 },
			[]string{"machine  The process may open 1024 files; worker.capacity 64 needs 1536."},
		},
		"a key": {
			func(f *doctor.Facts) { f.Machine.OpenKeys = []string{"/etc/rota/tls.key"} },
			[]string{"machine /etc/rota/tls.key Other users may read this private key."},
		},
		"settings that conflict": {
			func(f *doctor.Facts) {
				f.Machine.Settings.TTL, f.Machine.Settings.MaxClockOffset = 2*time.Second, 1500*time.Millisecond
			},
			[]string{"settings dispatch.arm_ahead It is 2s", "settings dispatch.max_clock_offset It is 1.5s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			tc.damage(&f)
			var got []string
			for _, x := range doctor.Examine(f).Findings {
				if x.Do == "" {
					t.Errorf("%s: it does not say what to do", x.Text)
				}
				got = append(got, x.Area+" "+x.Subject+" "+x.Text)
			}
			if !slices.EqualFunc(got, tc.want, strings.HasPrefix) {
				t.Errorf("got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestWithoutTheStoreTheRestIsExamined(t *testing.T) {
	f := healthy()
	f = doctor.Facts{Now: now, StoreErr: errors.New("no majority"), Members: f.Members, Machine: f.Machine}
	f.Members[1].Err, f.Members[2].Err, f.Members[0].Leader = errors.New("refused"), errors.New("refused"), 0
	r := doctor.Examine(f)
	if n := len(r.Findings); n != 4 { // two members, the leader, the store
		t.Errorf("%d findings: %+v", n, r.Findings)
	}
	if !slices.Equal(r.Examined, []string{"etcd", "machine", "settings"}) {
		t.Errorf("examined %v, skipped %v", r.Examined, r.Skipped)
	}
}
