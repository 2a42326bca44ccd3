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

// MaxFile is how many bytes of an attempt's output a worker keeps in a file.
const MaxFile = 16 << 20

// diskTimeout is how long the disk may take for each operation.
const diskTimeout = 5 * time.Second

// ErrNoAnswer says that the disk has not finished an operation in time. It may still finish it.
var ErrNoAnswer = errors.New("the disk does not answer")

// Answer returns the result of an operation of the disk, or ErrNoAnswer after timeout.
func Answer(result <-chan error, timeout time.Duration) error {
	select {
	case err := <-result:
		return err
	case <-time.After(timeout):
		return ErrNoAnswer
	}
}

// Writer receives the output of one attempt. It is safe for concurrent use, and its methods block for at most
// diskTimeout.
type Writer struct {
	dir, run string // the directory of all output, and the run of this one
	attempt  int
	room     int64 // bytes that the file may still take
	kept     int64 // bytes that were written to it

	mu     sync.Mutex
	file   *os.File // nil: not created yet, or abandoned
	buf    []byte   // copy of the bytes that are being written
	done   bool     // the file gets no more bytes.
	closed bool     // file and tail get no more bytes
	notes  []string // messages for the reader of the tail
	tail   tail
}

// New returns the writer of an attempt's output. It keeps the first capBytes in a file under dir, and the last tailBytes in
// memory. The first byte creates the file, so an attempt that prints nothing has none. The file replaces that of an earlier
// execution under the same number.
func New(dir, run string, attempt, tailBytes int, capBytes int64) *Writer {
	return &Writer{dir: dir, run: run, attempt: attempt, room: capBytes, tail: tail{size: tailBytes}}
}

// Write takes all of p and returns no error, whatever happens to the file. After Close it does nothing.
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

// save writes as much of p to the file as there is room. If the disk does not answer, save abandons the file. Otherwise the job
// would wait for the disk, and its timeout could not end it. The write that is stuck in the kernel cannot be canceled, and
// nothing waits for it. It closes the file when it returns.
func (w *Writer) save(p []byte) {
	fits := p[:min(int64(len(p)), w.room)]
	w.room -= int64(len(fits))
	w.buf = append(w.buf[:0], fits...) // a copy, since p is the caller's again after the timeout
	if len(fits) < len(p) {
		w.done = true
		w.buf = append(w.buf, "\n[rota: output is longer than the limit; the rest was not kept]\n"...)
	}
	file, text := w.file, w.buf
	written, late := make(chan result), make(chan struct{})
	go func() { // the select below waits for it
		r := w.write(file, text)
		select {
		case written <- r:
		case <-late:
			if r.file != nil {
				r.file.Close()
			}
		}
	}()
	select {
	case r := <-written:
		w.file = r.file
		w.kept += int64(min(r.n, len(fits)))
		if r.err != nil {
			w.abandon(r.err)
		}
	case <-time.After(diskTimeout):
		close(late)
		w.file, w.buf = nil, nil
		w.abandon(ErrNoAnswer)
	}
}

// result is the result of a write.
type result struct {
	file *os.File // nil: it could not be created
	n    int
	err  error
}

// write writes text to file. If file is nil, it creates the file first. It uses no field that changes.
func (w *Writer) write(file *os.File, text []byte) (r result) {
	if r.file = file; file == nil {
		if r.file, r.err = create(path(w.dir, w.run, w.attempt)); r.err != nil {
			return r
		}
	}
	r.n, r.err = r.file.Write(text)
	return r
}

// abandon stops writing to the file because of err.
func (w *Writer) abandon(err error) {
	w.done = true
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	w.notes = append(w.notes, fmt.Sprintf("[rota: output could not be kept in full on the worker: %v]", err))
}

// Tail returns the end of the output as valid UTF-8, with a note if the file is incomplete. It has no control characters
// except tab, newline, carriage return and escape, and at most tailBytes bytes.
func (w *Writer) Tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tail.text(w.notes)
}

// Kept returns how many bytes were written to the file.
func (w *Writer) Kept() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kept
}

// Close closes the file. The tail can still be read.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed, w.done = true, true
	if w.file == nil {
		return nil
	}
	file, closed := w.file, make(chan error, 1)
	w.file, w.buf = nil, nil
	go func() { closed <- file.Close() }() // Answer waits for it, as in save
	err := Answer(closed, diskTimeout)
	if errors.Is(err, ErrNoAnswer) {
		w.abandon(err)
	}
	if err != nil {
		return fmt.Errorf("close output: %w", err)
	}
	return nil
}

// create creates the file and locks it against Sweep, also in other processes. Closing the file releases the lock. Only the
// worker's user may read the file, since output may contain secrets.
func create(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // a sweep has removed the empty directory meanwhile
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
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
