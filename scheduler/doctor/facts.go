package doctor

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Facts is what was seen of a cluster. It leaves out what could not be seen.
type Facts struct {
	Now        time.Time
	Members    []Member
	Peers      []Peer // of an embedded etcd
	StoreErr   error  // why the store could not be read; then Members, Peers, Served and Machine alone are known
	Restored   error  // the data of the store came from another etcd, and nobody has accepted it; nil otherwise
	Replicas   []*job.Replica
	Answers    []Answer // one for each replica that was asked
	Workers    []*job.Worker
	Jobs       []*job.Job
	Unreadable []Unreadable
	Served     []Served
	Broken     []Broken // of the settings of this machine
	Machine    *Machine // nil: no machine is examined, and no settings
	Unseen     []string // what else could not be examined, with the reasons
}

// Member is one member of etcd.
type Member struct {
	Endpoint   string
	Err        error         // why it does not answer; nil if it does
	Latency    time.Duration // the median of several linearizable reads
	Version    string
	OldQuota   bool // it does not count rota's writes against its quota
	ID         uint64
	Cluster    string // the id of its cluster
	Leader     uint64 // id of the member that it follows; 0: none
	Size       int64  // bytes of its file
	Used       int64  // bytes of its file that hold records
	Quota      int64  // bytes; 0: unknown
	Alarms     []string
	Configured int // members that its cluster has; 0: unknown
}

// Peer is a member of etcd that the settings of this machine list, and that answers the other members.
type Peer struct {
	Name    string
	Cluster string // the id of its cluster
}

// Answer is what a replica said about the cluster.
type Answer struct {
	Node string
	Addr string
	Err  error // why it does not answer; nil if it does
	// Strange is set if the replica and this command do not know each other: a certificate, a token or a role is missing.
	Strange bool
	Ready   bool
	Why     []string // why it is not ready
	Clocks  []Clock
	// Refused is why it said only whether it is ready; nil if it also said Clocks and Absent.
	Refused error
	Absent  map[string]string // the states of the other replicas that are not present, by name: missing or stopped
}

// SetReady sets what /readyz?verbose answered: its text, whether the replica is ready, and why it gave no answer.
func (a *Answer) SetReady(checks string, ready bool, err error) {
	a.Ready, a.Err = ready, err
	for line := range strings.Lines(checks) {
		if reason, failed := strings.CutPrefix(strings.TrimSpace(line), "[-]"); failed {
			a.Why = append(a.Why, reason)
		}
	}
}

// Clock is the clock of another replica, as one replica measured it.
type Clock struct {
	Node        string
	Offset      time.Duration // its clock minus that of the replica that measured
	Uncertainty time.Duration
}

// Unreadable is a record that replicas ignore.
type Unreadable struct {
	Key string
	Err error
}

// Served is a certificate that a server shows, or that stands in a file.
type Served struct {
	Where string
	Cert  *x509.Certificate
}

// Broken is a file of certificates or authorities with which a process does not start.
type Broken struct {
	Path string
	Err  error
}

// Machine is the machine of a replica or worker, and its settings.
type Machine struct {
	Settings    Settings
	DataDir     string
	DiskErr     error         // why nothing can be written there; nil if it can
	Sync        time.Duration // the median of several small writes with fsync
	Free, Total uint64        // bytes of the file system
	Descriptors uint64        // that the process of rota may open; 0: unknown
	OpenKeys    []string      // files with private keys that other users may read
}

// Settings are those that matter here.
type Settings struct {
	Node           string
	TTL            time.Duration // of the election
	MaxClockOffset time.Duration
	ArmAhead       time.Duration
	Capacity       int
	Worker         bool
	Embedded       int // members of the embedded cluster; 0: etcd is not embedded
}

// Finding is one thing that will do harm, or does.
type Finding struct {
	Area    string `json:"area"`
	Subject string `json:"subject,omitempty"`
	Text    string `json:"text"`
	Do      string `json:"do" doc:"The remedy"`
}

// The areas, in the order in which findings are listed.
const (
	AreaEtcd         = "etcd"
	AreaReplicas     = "replicas"
	AreaClocks       = "clocks"
	AreaVersions     = "versions"
	AreaFiles        = "files"
	AreaRecords      = "records"
	AreaJobs         = "jobs"
	AreaWorkers      = "workers"
	AreaCertificates = "certificates"
	AreaMachine      = "machine"
	AreaSettings     = "settings"
)

// Report lists what was examined, and what was found.
type Report struct {
	Examined []string  `json:"examined" doc:"Areas"`
	Skipped  []string  `json:"skipped,omitempty" doc:"Parts that were not examined, with the reasons"`
	Findings []Finding `json:"findings"`
}

// Examine returns the findings, area by area.
func Examine(f Facts) Report {
	e := examiner{Facts: f, Report: Report{Findings: []Finding{}}}
	unread, certificates := "", len(f.Served)+len(f.Broken)
	if f.StoreErr != nil {
		unread = "the store cannot be read"
	}
	for _, area := range []struct {
		name string
		do   func()
		skip string // why it is not examined; "" if it is
	}{
		{AreaEtcd, e.etcd, ""},
		{AreaReplicas, e.replicas, unread},
		{AreaClocks, e.clocks, f.clocksUnseen()},
		{AreaVersions, e.versions, unread},
		{AreaFiles, e.files, unread},
		{AreaRecords, e.records, unread},
		{AreaJobs, e.jobs, unread},
		{AreaWorkers, e.workers, unread},
		{AreaCertificates, e.certificates, missing(certificates == 0, "no server uses TLS, and no settings name a certificate")},
		{AreaMachine, e.machine, missing(f.Machine == nil, "name the settings of this machine with --config")},
		{AreaSettings, e.settings, missing(f.Machine == nil, "name the settings of this machine with --config")},
	} {
		if area.skip != "" {
			e.Skipped = append(e.Skipped, area.name+": "+area.skip)
			continue
		}
		e.area = area.name
		e.Examined = append(e.Examined, area.name)
		area.do()
	}
	e.Skipped = append(e.Skipped, f.Unseen...)
	e.Skipped = append(e.Skipped, e.refused()...)
	if others := e.otherMachines(); len(others) > 0 {
		e.Skipped = append(e.Skipped, "machine, settings of "+strings.Join(others, ", ")+": each process examines only its own")
	}
	return e.Report
}

// clocksUnseen returns why the clocks are not examined; "" if they are.
func (f *Facts) clocksUnseen() string {
	seen := slices.ContainsFunc(f.Answers, func(a Answer) bool { return a.Refused == nil })
	return cmp.Or(
		missing(len(f.Answers) < 2, "fewer than two replicas were asked"),
		missing(!seen, "every replica refused to show those that it measured"),
	)
}

// refused names the replicas that said only whether they are ready, grouped by the reason.
func (e *examiner) refused() (skipped []string) {
	why := map[string][]string{}
	for _, a := range e.Answers {
		if a.Refused != nil {
			why[a.Refused.Error()] = append(why[a.Refused.Error()], a.Node)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		skipped = append(skipped, fmt.Sprintf("replicas: which ones are missing, and whose clock differs, in the view of %s: %s; "+
			"name a token with --token-file, or a certificate of your own with ROTA_CACERT, ROTA_CERT and ROTA_CERT_KEY",
			strings.Join(why[reason], ", "), reason))
	}
	return skipped
}

// otherMachines returns the processes whose machines were not examined, if one was.
func (e *examiner) otherMachines() (names []string) {
	if e.Machine == nil {
		return nil
	}
	for _, r := range e.Replicas {
		names = append(names, r.Name)
	}
	for _, w := range e.Workers {
		names = append(names, w.Name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == e.Machine.Settings.Node })
}

func missing(absent bool, why string) string {
	if absent {
		return why
	}
	return ""
}

// examiner collects the findings of one area after the other.
type examiner struct {
	Facts
	Report
	area string
}

func (e *examiner) add(subject, text, do string) {
	e.Findings = append(e.Findings, Finding{e.area, subject, text, do})
}
