package worker

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openTestLog(t *testing.T, path string) *appendLog {
	t.Helper()
	l, err := openLog(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.close() })
	return l
}

// holds returns what l holds.
func holds(t *testing.T, l *appendLog) map[string]string {
	t.Helper()
	got := make(map[string]string)
	if err := l.each(func(key string, value []byte) { got[key] = string(value) }); err != nil {
		t.Fatal(err)
	}
	return got
}

func wantHeld(t *testing.T, l *appendLog, want map[string]string) {
	t.Helper()
	if got := holds(t, l); !maps.Equal(got, want) {
		t.Errorf("log holds %d entries %.200v, want %d %.200v", len(got), got, len(want), want)
	}
}

func put(key, value string) change { return change{key: key, value: []byte(value)} }

func mustWrite(t *testing.T, l *appendLog, changes ...change) {
	t.Helper()
	if err := l.write(changes, true); err != nil {
		t.Fatal(err)
	}
}

func TestAppendLog(t *testing.T) {
	three := map[string]string{"a": "1", "b": "", "c": "3"}
	written := func(t *testing.T) (path string, ends []int64) {
		path = filepath.Join(t.TempDir(), "log")
		l := openTestLog(t, path)
		for _, key := range []string{"a", "b", "c"} {
			mustWrite(t, l, put(key, three[key]))
			ends = append(ends, l.size)
		}
		l.close()
		return path, ends
	}

	t.Run("holds what was written last and not removed, also when it is opened anew", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		l := openTestLog(t, path)
		mustWrite(t, l, put("a", "1"), put("b", "2"), put("c", "3"))
		mustWrite(t, l, change{key: "b"}, put("a", "4"), change{key: "unknown"})
		want := map[string]string{"a": "4", "c": "3"}
		wantHeld(t, l, want)
		l.close()
		wantHeld(t, openTestLog(t, path), want)
	})

	t.Run("cuts off what was being written, wherever the machine died, and goes on behind it", func(t *testing.T) {
		path, ends := written(t)
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for end := ends[1]; end < ends[2]; end++ {
			for name, tail := range map[string][]byte{"short": nil, "zeros": make([]byte, 100)} {
				if err := os.WriteFile(path, append(all[:end:end], tail...), 0o600); err != nil {
					t.Fatal(err)
				}
				l := openTestLog(t, path)
				if len(l.damaged) > 0 {
					t.Fatalf("%s at %d: %v", name, end, l.damaged)
				}
				mustWrite(t, l, put("d", "4"))
				l.close()
				l = openTestLog(t, path)
				wantHeld(t, l, map[string]string{"a": "1", "b": "", "d": "4"})
				l.close()
			}
		}
	})

	t.Run("reports damage, reads on behind it, and keeps the file when it is replaced", func(t *testing.T) {
		path, ends := written(t)
		all, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := ends[0]; at < ends[1]; at++ {
			bad := append([]byte(nil), all...)
			bad[at] ^= 0x40
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			l := openTestLog(t, path)
			if len(l.damaged) != 1 {
				t.Fatalf("byte %d: damage %v, want one", at, l.damaged)
			}
			wantHeld(t, l, map[string]string{"a": "1", "c": "3"})
			if at == ends[0] {
				if err := l.replace(); err != nil {
					t.Fatal(err)
				}
				if kept, err := os.ReadFile(path + ".damaged"); err != nil || string(kept) != string(bad) {
					t.Errorf("the damaged file is not kept: %v", err)
				}
				wantHeld(t, l, map[string]string{"a": "1", "c": "3"})
			}
			l.close()
		}
	})

	t.Run("takes no more room than what is left", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		l := openTestLog(t, path)
		want := map[string]string{"stays": strings.Repeat("x", 1000)}
		mustWrite(t, l, put("stays", want["stays"]))
		for i := range 20_000 {
			key := fmt.Sprint(i)
			if err := l.write([]change{put(key, want["stays"])}, false); err != nil {
				t.Fatal(err)
			}
			if err := l.write([]change{{key: key}}, false); err != nil {
				t.Fatal(err)
			}
			l.tidy()
			if l.size > tidyAbove+1<<20 {
				t.Fatalf("it takes %d bytes for %d", l.size, l.bytes)
			}
		}
		wantHeld(t, l, want)
		mustWrite(t, l, change{key: "stays"})
		if l.tidy(); l.size != int64(len(logHead)) {
			t.Errorf("empty, it takes %d bytes", l.size)
		}
		mustWrite(t, l, put("a", "1"))
		l.close()
		wantHeld(t, openTestLog(t, path), map[string]string{"a": "1"})
	})

	t.Run("copies what it holds before it goes on when a sync has failed", func(t *testing.T) {
		path, _ := written(t)
		l := openTestLog(t, path)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		l.suspect = true
		mustWrite(t, l, change{key: "a"})
		if after, err := os.Stat(path); err != nil || os.SameFile(before, after) {
			t.Errorf("it is the same file (%v)", err)
		}
		l.close()
		wantHeld(t, openTestLog(t, path), map[string]string{"b": "", "c": "3"})
	})

	t.Run("holds what it held when a write fails", func(t *testing.T) {
		path, _ := written(t)
		l := openTestLog(t, path)
		file := l.file
		var err error
		if l.file, err = os.Open(path); err != nil { // for reading
			t.Fatal(err)
		}
		if err := l.write([]change{put("d", "4"), {key: "a"}}, true); err == nil {
			t.Error("write = nil on a file that takes nothing")
		}
		wantHeld(t, l, three)
		l.file.Close()
		l.file = file
		mustWrite(t, l, put("e", "5"))
		l.close()
		wantHeld(t, openTestLog(t, path), map[string]string{"a": "1", "b": "", "c": "3", "e": "5"})
	})

	t.Run("leaves nothing behind when it cannot be copied", func(t *testing.T) {
		path, _ := written(t)
		l := openTestLog(t, path)
		file := l.file
		var err error
		if l.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil { // not for reading
			t.Fatal(err)
		}
		if err := l.replace(); err == nil {
			t.Error("replace = nil, though nothing can be read")
		}
		if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the copy is still there: %v", err)
		}
		l.file.Close()
		l.file = file
		wantHeld(t, l, three)
	})

	t.Run("is open once at a time", func(t *testing.T) {
		path, _ := written(t)
		l := openTestLog(t, path)
		if second, err := openLog(path, 0); !errors.Is(err, errInUse) {
			second.close()
			t.Errorf("a second one: got %v, want %v", err, errInUse)
		}
		l.close()
		openTestLog(t, path)
	})
}
