package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/files"
)

// kind says what a command needs.
type kind int

const (
	reads     kind = iota // a replica
	changes               // a replica, and a store that accepts writes
	readStore             // the store itself
	probes                // a process, whose answer is the result
)

// order is a command line, and what it needs.
type order struct {
	kind kind
	line string
}

// orders has a command line for every command that uses a cluster.
var orders = map[string]order{
	"rota accept-restored-store": {readStore, "accept-restored-store"},
	"rota apply":                 {changes, "apply jobs.yaml --yes"},
	"rota approve":               {changes, "approve by-hand"},
	"rota audit":                 {reads, "audit"},
	"rota backfill":              {changes, "backfill tick --from 2026-01-01T00:00:00Z --to 2026-01-01T00:00:01Z"},
	"rota cancel":                {changes, "cancel long"},
	"rota delete":                {changes, "delete old --yes"},
	"rota diff":                  {reads, "diff jobs.yaml"},
	"rota doctor":                {reads, "doctor"},
	"rota etcdctl":               {readStore, "etcdctl get --prefix /rota/jobs/ --keys-only"},
	"rota events":                {reads, "events"},
	"rota explain":               {reads, "explain tick now"},
	"rota export":                {reads, "export long"},
	"rota graph":                 {reads, "graph"},
	"rota health":                {probes, "health --ready"},
	"rota incident":              {reads, "incident"},
	"rota job":                   {reads, "job long"},
	"rota jobs":                  {reads, "jobs"},
	"rota limits":                {reads, "limits"},
	"rota logs":                  {reads, "logs tick"},
	"rota next":                  {reads, "next tick"},
	"rota open":                  {changes, "open --print"},
	"rota pause":                 {changes, "pause long"},
	"rota reject":                {changes, "reject by-hand --reason no"},
	"rota resume":                {changes, "resume long"},
	"rota retry":                 {changes, "retry bad"},
	"rota run":                   {changes, "run bad"},
	"rota run-info":              {reads, "run-info tick"},
	"rota runs":                  {reads, "runs"},
	"rota status":                {reads, "status"},
	"rota submit":                {changes, "submit --in 1h bad"},
	"rota token create":          {changes, "token create ci --role viewer"},
	"rota token list":            {reads, "token list"},
	"rota token revoke":          {changes, "token revoke k3j2h8w4q9xz"},
	"rota token rotate":          {changes, "token rotate k3j2h8w4q9xz"},
	"rota verify":                {readStore, "verify"},
	"rota version":               {reads, "version --cluster"},
	"rota whoami":                {reads, "whoami"},
	"rota workers":               {reads, "workers"},
}

// alone are commands that use no running cluster, or that are one, or that need more than a command line.
var alone = map[string]string{
	"rota check": "only files", "rota config schema": "no input", "rota config show": "only files",
	"rota import cronjob": "only files", "rota import crontab": "only files", "rota import dkron": "only files",
	"rota import systemd": "only files", "rota man": "no input", "rota pki init": "only files", "rota pki issue": "only files",
	"rota pki kubernetes": "the API server of Kubernetes", "rota etcdutl": "only files", "rota login": "the provider", "rota logout": "only files",
	"rota wait": "waits for better days: TestScripts/wait",
	"rota top":  "TestTop has a terminal", "rota dev": "a cluster", "rota serve": "a replica: TestBadStart", "rota worker": "a worker: TestBadStart",
}

// answer is what a command says on a bad day: one of the exit codes, and a text.
type answer struct {
	codes []int
	says  string // regular expression; "" if the exit code tells enough
}

// badDay is a cluster with a fault.
type badDay struct {
	name   string
	env    []string
	want   map[kind]answer
	except map[string]answer // by command
}

// answerIn is how long a command may take, and atStart how long a busy machine may take to start it.
const (
	answerIn = 5 * time.Second
	atStart  = 2 * time.Second
)

// programmers lists texts that only programmers understand.
var programmers = regexp.MustCompile(`panic|goroutine|rpc error|context deadline|unexpected EOF|json:|"level"|invalid character|0x[0-9a-f]{4}`)

func TestEveryCommandHasARowForBadDays(t *testing.T) {
	for _, command := range commands(t) {
		_, uses := orders[command]
		if _, not := alone[command]; uses == not {
			t.Errorf("%s has no row in orders or alone, or both", command)
		}
	}
}

// commands lists the commands of the reference, which `make docs` generates from cobra, without those that only have others.
func commands(t *testing.T) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if m := helpHeading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			list = append(list, m[1])
		}
	}
	if len(list) < 50 {
		t.Fatalf("found only %d commands", len(list))
	}
	return slices.DeleteFunc(list, func(c string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return strings.HasPrefix(other, c+" ") })
	})
}

// endure runs every command on a bad day.
func (d badDay) endure(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	files.Write(t, filepath.Join(dir, "jobs.yaml"), "jobs:\n  sums: {every: 1h, command: [date]}\n")
	room := make(chan struct{}, 12)
	var all sync.WaitGroup
	for command, o := range orders {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			want, special := d.except[command]
			if !special {
				want = d.want[o.kind]
			}
			d.run(t, dir, o.line, want)
		})
	}
	all.Wait()
}

func (d badDay) run(t *testing.T, dir, line string, want answer) {
	cmd := exec.CommandContext(t.Context(), binary, strings.Fields(line)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + t.TempDir()}, d.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Errorf("%s: rota %s: %v", d.name, line, err)
		return
	}
	code, said := cmd.ProcessState.ExitCode(), stdout.String()+stderr.String()
	wrong := ""
	switch {
	case took > answerIn+atStart:
		wrong = fmt.Sprintf("takes %v", took.Round(time.Millisecond))
	case !slices.Contains(want.codes, code):
		wrong = fmt.Sprintf("exit code %d, want one of %v", code, want.codes)
	case !regexp.MustCompile(want.says).MatchString(said):
		wrong = fmt.Sprintf("it does not say %q", want.says)
	case programmers.MatchString(stderr.String()):
		wrong = fmt.Sprintf("it speaks to programmers: %q", programmers.FindString(stderr.String()))
	case code == 5 && !strings.Contains(stderr.String(), "\nhint: "):
		wrong = "it has no hint"
	}
	if wrong != "" {
		t.Errorf("%s: rota %s: %s\n%s", d.name, line, wrong, said)
	}
	if testing.Verbose() {
		t.Logf("%s: rota %s: %d after %v\n%s", d.name, line, code, took.Round(time.Millisecond), stderr.String())
	}
}
