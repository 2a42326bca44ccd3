package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// DefaultCap is how much of an attempt's output a file keeps when nothing else is said, in bytes.
const DefaultCap = 16 << 20

// patience is how long the disk may take for each thing that is asked of it.
const patience = 5 * time.Second

// ErrNoAnswer is a disk that has not done in time what it was asked for, and may do it yet.
var ErrNoAnswer = errors.New("the disk does not answer")

// Answer waits for what a disk is asked for, no longer than patience: ErrNoAnswer.
func Answer(result <-chan error, patience time.Duration) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case err := <-result:
		return err
	case <-t.C:
		return ErrNoAnswer
	}
}

// Writer takes the output of one attempt. It is safe for concurrent use, and keeps nobody waiting for more than patience.
type Writer struct {
	path func() string // most attempts print nothing and need none
	room int64         // bytes that may still go to the file
	kept int64         // bytes that went to it

	mu     sync.Mutex
	file   *os.File // nil: not begun, or given up
	buf    []byte   // for what goes to the file
	done   bool     // nothing goes to the file any more
	closed bool     // nothing goes anywhere any more
	notes  []string // what the reader of the tail should know
	tail   tail
}

// New returns the writer of an attempt's output. It keeps the first capBytes in a file under dir (DefaultCap if
// capBytes is not positive) and the last tailBytes in memory. The file comes to be with the first byte: an attempt that
// prints nothing has none. A file of an earlier execution under the same number is replaced.
func New(dir, run string, attempt, tailBytes int, capBytes int64) *Writer {
	if capBytes <= 0 {
		capBytes = DefaultCap
	}
	return &Writer{path: func() string { return path(dir, run, attempt) }, room: capBytes, tail: tail{size: tailBytes}}
}

// Write takes all of p and returns no error, whatever becomes of the file. After Close it does nothing.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(p) == 0 {
		return len(p), nil
	}
	w.tail.add(p)
	if !w.done {
		w.save(p)
	}
	return len(p), nil
}

// save writes to the file what there is room for. If the disk does not answer, the file is given up: whoever prints would wait
// for it, and be beyond the reach of its timeout. What is stuck in the kernel then can neither be ended nor waited for; it closes
// the file when it comes back.
func (w *Writer) save(p []byte) {
	fits := p[:min(int64(len(p)), w.room)]
	w.room -= int64(len(fits))
	w.buf = append(w.buf[:0], fits...) // since p is the caller's again when we have given up
	if len(fits) < len(p) {
		w.done = true
		w.buf = append(w.buf, "\n[rota: output is longer than the limit; the rest was not kept]\n"...)
	}
	path, file, text := w.path, w.file, w.buf
	written, late := make(chan result), make(chan struct{})
	go func() { // waited for below
		r := write(path, file, text)
		select {
		case written <- r:
		case <-late:
			if r.file != nil {
				r.file.Close()
			}
		}
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case r := <-written:
		w.file = r.file
		w.kept += int64(min(r.n, len(fits)))
		if r.err != nil {
			w.giveUp(r.err)
		}
	case <-t.C:
		close(late)
		w.file, w.buf = nil, nil
		w.giveUp(ErrNoAnswer)
	}
}

// result is what has become of a write.
type result struct {
	file *os.File // nil: it could not be made
	n    int
	err  error
}

// write writes text to the file, which it makes at path if it is nil.
func write(path func() string, file *os.File, text []byte) (r result) {
	if r.file = file; file == nil {
		if r.file, r.err = create(path()); r.err != nil {
			return r
		}
	}
	r.n, r.err = r.file.Write(text)
	return r
}

// giveUp ends the file's part of the work.
func (w *Writer) giveUp(err error) {
	w.done = true
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	w.notes = append(w.notes, fmt.Sprintf("[rota: output could not be kept in full on the worker: %v]", err))
}

// Tail returns the end of the output as valid UTF-8 without control characters other than tab, newline, carriage return
// and escape, with a note if the file is not complete. It has at most tailBytes bytes.
func (w *Writer) Tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail.text(w.notes)
}

// Kept is how many bytes went to the file.
func (w *Writer) Kept() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

// Close ends the file. The tail can still be read.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.done = true, true
	if w.file == nil {
		return nil
	}
	file, closed := w.file, make(chan error, 1)
	w.file, w.buf = nil, nil
	go func() { closed <- file.Close() }() // waited for below, as in save
	err := Answer(closed, patience)
	if errors.Is(err, ErrNoAnswer) {
		w.giveUp(err)
	}
	if err != nil {
		return fmt.Errorf("close output: %w", err)
	}
	return nil
}

// create makes the file and locks it for as long as it is open, also against other processes: see Sweep.
// Only the worker's user may read it, since jobs print all sorts of things.
func create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // a sweep has removed the empty directory in between
		os.MkdirAll(filepath.Dir(path), 0o700)
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if info, err := f.Stat(); err != nil || info.Size() > 0 {
		if err := f.Truncate(0); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}
