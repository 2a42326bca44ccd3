package embedded

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.uber.org/zap/zapcore"
)

// Phases of a server that its log distinguishes.
const (
	starting = iota
	serving
	closing
)

// slow is the duration from which a slow request or disk sync is a warning.
// etcd warns from 100 ms, which a shared disk often needs.
const slow = time.Second

// logState is shared by all cores that derive from the logger of one server.
type logState struct {
	phase   atomic.Int32
	failure atomic.Pointer[error] // why the server stopped itself
	repeats repeats               // of warnings that are logged
}

// logCore writes etcd's zap log to hclog. etcd's Info becomes our Debug, and its
// Debug our Trace.
type logCore struct {
	log   hclog.Logger
	state *logState
	dying func() // may be nil
}

func newLogCore(log hclog.Logger, dying func()) *logCore {
	return &logCore{log: log, state: new(logState), dying: dying}
}

// Enabled accepts warnings at every level of the log, because one of them may
// be the reason why the server stopped itself. hclog applies the level later.
// If the log has no level, Enabled accepts only warnings and errors: otherwise
// etcd would format every request for the log.
func (c *logCore) Enabled(l zapcore.Level) bool {
	level := c.log.GetLevel()
	return l >= zapcore.WarnLevel || level != hclog.NoLevel && baseLevel(l) >= level
}

func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	return &logCore{log: c.log.With(args(fields)...), state: c.state, dying: c.dying}
}

func (c *logCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c *logCore) Write(e zapcore.Entry, fields []zapcore.Field) error {
	if e.Message == "server error" {
		if err := errorOf(fields); err != nil {
			c.state.failure.Store(&err)
		}
	}
	pairs := args(fields)
	if do := hintAbout(e, fields); do != "" {
		pairs = append(pairs, "hint", do)
	}
	if e.Level <= zapcore.ErrorLevel {
		c.log.Log(c.level(e, fields), e.Message, pairs...)
		return nil
	}
	c.log.Error(e.Message, pairs...)
	if c.dying != nil {
		c.dying()
	}
	return nil
}

func (c *logCore) Sync() error { return nil }

// hintAbout returns what an operator does about a line of etcd's log, or "".
func hintAbout(e zapcore.Entry, fields []zapcore.Field) string {
	switch {
	case strings.Contains(e.Message, "cluster ID mismatch"):
		return "a member has the data of another cluster: `rota doctor --config FILE` names the cluster of each"
	case e.Message == "failed to save incoming database snapshot" && isFull(errorOf(fields)):
		return "this member needs a copy of the whole database: make room on its disk, and it goes on by itself"
	case e.Level > zapcore.ErrorLevel:
		return remedy(e.Message, fields)
	}
	return ""
}

// remedy returns the step by which an operator repairs the disk that ends the process, or "". Without it, etcd says of a full disk
// only that the log cannot be repaired.
func remedy(message string, fields []zapcore.Field) string {
	switch err := errorOf(fields); {
	case strings.Contains(message, "Was the raft log corrupted, truncated, or lost?"):
		return "this member lacks writes that it has confirmed, as an old copy of its disk does: docs/how-to/replace-a-member.md"
	case isFull(err):
		return "make room on the disk, then start this replica again: its data is kept"
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO), errors.Is(err, bolterrors.ErrInvalid):
		return "repair the disk, then start this replica again; if its data is lost: docs/how-to/replace-a-member.md"
	case errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "this machine lacks memory or open files: give it more, then start this replica again"
	}
	return ""
}

// isFull reports whether err says that a disk has no room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// endOfDisk is what follows a panic in etcd's log. If there is a remedy, fatal ends the process as after a fatal error, since a
// stack would only hide the last line of the log. Any other panic is a mistake in etcd, whose stack matters.
type endOfDisk struct{ fatal zapcore.CheckWriteHook }

func (e endOfDisk) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	if remedy(entry.Message, fields) != "" {
		e.fatal.OnWrite(entry, fields)
	}
	panic(entry.Message)
}

// level demotes warnings that need no action of an operator.
func (c *logCore) level(e zapcore.Entry, fields []zapcore.Field) hclog.Level {
	base, phase := baseLevel(e.Level), c.state.phase.Load()
	switch {
	case base <= hclog.Debug:
		return base
	case phase == closing:
		return hclog.Debug
	case noisy(e.Message, phase), aboutTime(e.Message) && took(fields) < slow, isNew(fields),
		c.state.repeats.tooMany(e.Message, e.Time):
		return hclog.Debug
	}
	return base
}

func baseLevel(l zapcore.Level) hclog.Level {
	switch {
	case l <= zapcore.DebugLevel:
		return hclog.Trace
	case l == zapcore.InfoLevel:
		return hclog.Debug
	case l == zapcore.WarnLevel:
		return hclog.Warn
	}
	return hclog.Error
}

// noisy reports whether a warning needs no action of an operator in a phase.
func noisy(msg string, phase int32) bool {
	switch msg {
	case "Running http and grpc server on single port. This is not recommended for production.",
		"simple token is not cryptographically signed",
		"lost TCP streaming connection with remote peer",
		"closed TCP streaming connection with remote peer":
		return true
	case "prober detected unhealthy status",
		"failed to publish local member to cluster through raft",
		"failed to reach the peer URL",
		"failed to get version",
		"failed to resolve URL Host",
		"peer became inactive (message send to peer failed)",
		"waiting for ReadIndex response took too long, retrying",
		"timed out waiting for read index response (local node might have slow network)":
		return phase == starting // members start one after the other
	}
	return false
}

// isNew reports whether an error says only that the store is new and has no term yet. etcd tries again after some seconds.
func isNew(fields []zapcore.Field) bool {
	err := errorOf(fields)
	return err != nil && strings.Contains(err.Error(), "missing term information")
}

// aboutTime reports whether msg is a warning that matters only if the duration in it is long.
func aboutTime(msg string) bool {
	switch msg {
	case "apply request took too long",
		"request stats",
		"slow fdatasync",
		"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk":
		return true
	}
	return false
}

func isError(f zapcore.Field) bool { return f.Type == zapcore.ErrorType }

// errorOf returns the first error among fields; nil if there is none.
func errorOf(fields []zapcore.Field) error {
	i := slices.IndexFunc(fields, isError)
	if i < 0 {
		return nil
	}
	return fields[i].Interface.(error)
}

// took returns the duration in a warning about slowness. The name of its field
// differs between warnings.
func took(fields []zapcore.Field) time.Duration {
	for _, f := range fields {
		switch f.Key {
		case "took", "time spent", "exceeded-duration":
			if f.Type == zapcore.DurationType {
				return time.Duration(f.Integer)
			}
			if d, err := time.ParseDuration(f.String); err == nil {
				return d
			}
		}
	}
	return 0
}

// args converts fields to hclog's key/value pairs. The key of an error is err.
func args(fields []zapcore.Field) []any {
	var out []any
	for _, f := range fields {
		if isError(f) {
			out = append(out, "err", f.Interface)
			continue
		}
		enc := zapcore.NewMapObjectEncoder()
		f.AddTo(enc)
		v, ok := enc.Fields[f.Key]
		if d, is := v.(time.Duration); is {
			v = d.String() // JSON would have the number of nanoseconds
		}
		if ok {
			out = append(out, f.Key, v)
		}
	}
	return out
}
