package output_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/output"
	"github.com/rota-scheduler/rota/test/files"
)

func TestSweepRemovesOldAndExcessFiles(t *testing.T) {
	dir, start := t.TempDir(), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := 1; i <= 5; i++ { // attempt i was written on day i
		w := output.New(dir, run, i, 100, output.MaxFile)
		fmt.Fprint(w, strings.Repeat("x", 100))
		w.Close()
		f, err := output.Open(dir, run, i)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		day := start.AddDate(0, 0, i-1)
		if err := os.Chtimes(f.Name(), day, day); err != nil {
			t.Fatal(err)
		}
	}
	other := files.Write(t, filepath.Join(dir, "backup", "notes.txt"), "")
	kept := func() (s []int) {
		for i := 1; i <= 6; i++ {
			if f, err := output.Open(dir, run, i); err == nil {
				f.Close()
				s = append(s, i)
			}
		}
		return s
	}
	sweep := func(bounds output.Bounds, removed int, want ...int) {
		t.Helper()
		n, err := output.Sweep(t.Context(), dir, bounds, start.AddDate(0, 0, 5))
		if err != nil || n != removed || fmt.Sprint(kept()) != fmt.Sprint(want) {
			t.Errorf("Sweep = %d, %v, left %v; want %d and %v left", n, err, kept(), removed, want)
		}
	}
	sweep(output.Bounds{}, 0, 1, 2, 3, 4, 5)
	sweep(output.Bounds{Age: 100 * time.Hour}, 1, 2, 3, 4, 5)
	sweep(output.Bounds{Files: 3}, 1, 3, 4, 5)
	sweep(output.Bounds{Bytes: 2*output.Block + 250}, 1, 4, 5)
	sweep(output.Bounds{Bytes: 4 * output.Block, Files: 4}.Half(), 0, 4, 5)

	w := output.New(dir, run, 5, 100, output.MaxFile) // attempt 5 is being written again
	fmt.Fprint(w, strings.Repeat("x", 100))
	f, _ := output.Open(dir, run, 5)
	f.Close()
	if err := os.Chtimes(f.Name(), start, start); err != nil {
		t.Fatal(err)
	}
	sweep(output.Bounds{Age: time.Hour, Bytes: 1, Files: 1}, 1, 5)
	w.Close()
	sweep(output.Bounds{Age: time.Hour, Bytes: 1}, 1)
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another file was removed: %v", err)
	}
	if n, err := output.Sweep(t.Context(), filepath.Join(dir, "nowhere"), output.Bounds{Age: time.Hour, Bytes: 1}, start); n != 0 || err != nil {
		t.Errorf("directory that does not exist: %d, %v", n, err)
	}
}

func TestSweepCountsTheSizeOfALongFile(t *testing.T) {
	dir := t.TempDir()
	for i, size := range []int{3 * output.Block, 1} { // the long file is older
		w := output.New(dir, run, i+1, 100, output.MaxFile)
		fmt.Fprint(w, strings.Repeat("x", size))
		w.Close()
		f, err := output.Open(dir, run, i+1)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if err := os.Chtimes(f.Name(), time.Unix(int64(i), 0), time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := output.Sweep(t.Context(), dir, output.Bounds{Bytes: 3 * output.Block}, time.Unix(10, 0)); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want the long one removed", n, err)
	}
}
