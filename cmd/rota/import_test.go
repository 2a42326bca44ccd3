package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A crontab without a zone of its own has that of its machine. A guess would move every job.
func TestLocalZone(t *testing.T) {
	dir := t.TempDir()
	link := func(name string) string {
		t.Helper()
		target := filepath.Join(dir, "zoneinfo", name)
		file := filepath.Join(dir, filepath.Base(name))
		err := os.MkdirAll(filepath.Dir(target), 0o700)
		if err == nil {
			err = os.WriteFile(target, nil, 0o600)
		}
		if err == nil {
			err = os.Symlink(target, file)
		}
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	berlin, utc, fixed := link("Europe/Berlin"), link("Etc/UTC"), link("Etc/GMT-3")
	copied := filepath.Join(dir, "copied")
	if err := os.WriteFile(copied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tz, file, want string }{
		"a link":                  {"", berlin, "Europe/Berlin"},
		"UTC":                     {"", utc, "UTC"},
		"a fixed zone":            {"", fixed, "Etc/GMT-3"},
		"a copy has no name":      {"", copied, ""},
		"no file":                 {"", filepath.Join(dir, "none"), "UTC"},
		"TZ":                      {"Asia/Tokyo", berlin, "Asia/Tokyo"},
		"TZ with a colon":         {":Asia/Tokyo", berlin, "Asia/Tokyo"},
		"TZ with a file":          {":" + berlin, utc, "Europe/Berlin"},
		"TZ with a zone's file":   {filepath.Join(dir, "zoneinfo/Europe/Berlin"), utc, "Europe/Berlin"},
		"TZ with a file, no name": {copied, utc, ""},
	} {
		if got := localZone(c.tz, c.file); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
