package embedded

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/rota-scheduler/rota/test/buffer"
)

func TestLogLevels(t *testing.T) {
	t.Parallel()
	slowApply := func(took time.Duration) func(*zap.Logger) {
		return func(l *zap.Logger) { l.Warn("apply request took too long", zap.Duration("took", took)) }
	}
	publish := func(l *zap.Logger) { l.Warn("failed to publish local member to cluster through raft") }
	tests := []struct {
		name  string
		phase int32
		write func(*zap.Logger)
		want  string
	}{
		{"debug becomes trace", serving, func(l *zap.Logger) { l.Debug("m") }, "[TRACE]"},
		{"info becomes debug", serving, func(l *zap.Logger) { l.Info("m") }, "[DEBUG]"},
		{"warn stays", serving, func(l *zap.Logger) { l.Warn("m") }, "[WARN]"},
		{"error stays", serving, func(l *zap.Logger) { l.Error("m") }, "[ERROR]"},
		{"slow is not worth a warning", serving, slowApply(300 * time.Millisecond), "[DEBUG]"},
		{"very slow is", serving, slowApply(2 * time.Second), "[WARN]"},
		{"waiting for others is normal at start", starting, publish, "[DEBUG]"},
		{"and not later", serving, publish, "[WARN]"},
		{"a new store has no term yet", serving, func(l *zap.Logger) {
			l.Error("failed to update storage version", zap.Error(errors.New("cannot detect storage schema version: missing term information")))
		}, "[DEBUG]"},
		{"errors of closing are not news", closing, func(l *zap.Logger) { l.Error("m") }, "[DEBUG]"},
		{"a panic always is", closing, func(l *zap.Logger) {
			defer func() { _ = recover() }()
			l.Panic("m")
		}, "[ERROR]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log, lines := newLog(hclog.Trace)
			core := newLogCore(log, nil)
			core.state.phase.Store(tt.phase)
			tt.write(zap.New(core))
			if !strings.Contains(lines.String(), tt.want) {
				t.Errorf("got %q, want %s", lines, tt.want)
			}
		})
	}
}

// TestALogWithoutALevelIsDisabled: etcd prints each request for an enabled log, which costs more than the request.
func TestALogWithoutALevelIsDisabled(t *testing.T) {
	t.Parallel()
	if core := newLogCore(hclog.NewNullLogger(), nil); core.Enabled(zap.InfoLevel) || !core.Enabled(zap.WarnLevel) {
		t.Error("a log that takes nothing is written to, or warnings are not looked at")
	}
}

func TestLogFields(t *testing.T) {
	t.Parallel()
	log, lines := newLog(hclog.Debug)
	zap.New(newLogCore(log, nil)).With(zap.String("member", "q1")).
		Info("m", zap.Int("n", 7), zap.Duration("took", time.Second), zap.Strings("urls", []string{"a", "b"}),
			zap.Error(errors.New("boom")), zap.Error(nil))
	got := strings.TrimSpace(lines.String())
	want := `m: member=q1 n=7 took=1s urls=[a, b] err=boom`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}

// A member with the data of another cluster makes the others write the same warnings for ever, many times a second.
func TestAWarningThatRepeatsDoesNotFillTheDisk(t *testing.T) {
	t.Parallel()
	const message = "request cluster ID mismatch"
	log, lines := newLog(hclog.Info)
	core := newLogCore(log, nil)
	began := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	for i := range 1200 { // two minutes
		entry := zapcore.Entry{Level: zapcore.WarnLevel, Message: message, Time: began.Add(time.Duration(i) * 100 * time.Millisecond)}
		if err := core.Write(entry, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(lines.String(), message); n != 2*mostPerMinute {
		t.Errorf("got %d lines, want %d", n, 2*mostPerMinute)
	}
	if !strings.Contains(lines.String(), "rota doctor") {
		t.Errorf("no hint in %.300s", lines)
	}
	zap.New(core).Warn("another")
	if !strings.Contains(lines.String(), "another") {
		t.Error("another warning is not logged")
	}
}

// JSON has no type for durations: a number of nanoseconds would be hard to read.
func TestDurationsHaveUnitsInJSON(t *testing.T) {
	t.Parallel()
	b := new(buffer.Buffer)
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: b, JSONFormat: true})
	zap.New(newLogCore(log, nil)).Info("m", zap.Duration("took", 1500*time.Millisecond))
	if !strings.Contains(b.String(), `"took":"1.5s"`) {
		t.Errorf("got %s", b)
	}
}

func TestTheLastLineIsWrittenBeforeTheProcessEnds(t *testing.T) {
	t.Parallel()
	log, lines := newLog(hclog.Info)
	said := ""
	l := zap.New(newLogCore(log, func() { said = lines.String() })).With(zap.String("member", "q1"))
	if l.Error("m"); said != "" {
		t.Errorf("after an error: got %q, want no call of Dying", said)
	}
	defer func() {
		if recover() == nil || !strings.Contains(said, "the disk is gone: member=q1") {
			t.Errorf("got %q, want the last line written before", said)
		}
	}()
	l.Panic("the disk is gone")
}

// fatalCount counts the ends of the process.
type fatalCount int

func (f *fatalCount) OnWrite(*zapcore.CheckedEntry, []zapcore.Field) { *f++ }

// TestADiskThatEndsTheProcess: etcd's own words for a full disk suggest that its log is lost.
func TestADiskThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "make room on the disk"},
		{&fs.PathError{Op: "write", Path: "db", Err: syscall.EDQUOT}, "make room on the disk"},
		{&fs.PathError{Op: "write", Path: "db", Err: syscall.EIO}, "repair the disk"},
		{&fs.PathError{Op: "open", Path: "db", Err: syscall.EROFS}, "repair the disk"},
		{bolterrors.ErrInvalid, "repair the disk"},
		{syscall.ENOMEM, "lacks memory"},
		{io.ErrUnexpectedEOF, ""},
	} {
		log, lines := newLog(hclog.Info)
		var fatal fatalCount
		func() {
			defer func() { _ = recover() }()
			hook := zap.WithPanicHook(endOfDisk{&fatal})
			zap.New(newLogCore(log, nil), hook).Panic("failed to open database", zap.Error(tt.err))
		}()
		if (fatal == 1) != (tt.want != "") {
			t.Errorf("%v: %d plain ends of the process; only without a hint it shows the stack of etcd", tt.err, fatal)
		}
		if _, hint, _ := strings.Cut(lines.String(), "hint="); !strings.Contains(hint, tt.want) || tt.want == "" && hint != "" {
			t.Errorf("%v: got %q, want the hint %q", tt.err, lines, tt.want)
		}
	}
}

// TestALineOfEtcdThatNeedsAnOperatorHasAHint: etcd's words do not say what to do.
func TestALineOfEtcdThatNeedsAnOperatorHasAHint(t *testing.T) {
	t.Parallel()
	const snapshot = "failed to save incoming database snapshot"
	full := &fs.PathError{Op: "write", Path: "tmp", Err: syscall.ENOSPC}
	for _, tt := range []struct {
		message string
		err     error
		panics  bool
		want    string
	}{
		{message: snapshot, err: full, want: "make room on its disk"},
		{message: snapshot, err: io.ErrUnexpectedEOF},
		{message: "another warning", err: full},
		{
			message: "tocommit(9) is out of range [lastIndex(5)]. Was the raft log corrupted, truncated, or lost?", panics: true,
			want: "docs/how-to/replace-a-member.md",
		},
		{message: "another panic", panics: true},
	} {
		log, lines := newLog(hclog.Info)
		var fatal fatalCount
		func() {
			defer func() { _ = recover() }()
			l := zap.New(newLogCore(log, nil), zap.WithPanicHook(endOfDisk{&fatal}))
			if tt.panics {
				l.Panic(tt.message)
			}
			l.Warn(tt.message, zap.Error(tt.err))
		}()
		if want := tt.panics && tt.want != ""; (fatal == 1) != want {
			t.Errorf("%s: %d plain ends of the process", tt.message, fatal)
		}
		if _, hint, _ := strings.Cut(lines.String(), "hint="); !strings.Contains(hint, tt.want) || tt.want == "" && hint != "" {
			t.Errorf("%s, %v: got %q, want the hint %q", tt.message, tt.err, lines, tt.want)
		}
	}
}

func TestLogBelowLevelIsNotWritten(t *testing.T) {
	t.Parallel()
	log, lines := newLog(hclog.Error)
	core := newLogCore(log, nil)
	l := zap.New(core)
	if l.Core().Enabled(zap.DebugLevel) {
		t.Error("debug is enabled: etcd would gather statistics of every request")
	}
	why := errors.New("the member has been permanently removed from the cluster")
	l.Info("m")
	l.Warn("server error", zap.Error(why))
	if got := lines.String(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	if p := core.state.failure.Load(); p == nil || !errors.Is(*p, why) {
		t.Errorf("failure: got %v, want %v", p, why)
	}
}
