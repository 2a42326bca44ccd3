package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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

// A machine whose zone has no name can import what has zones of its own.
func TestAnImportWithoutTheZoneOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Setenv("TZ", write("copied", ""))
	service := write("a.service", "[Service]\nExecStart=/bin/true\n")
	timer := func(when string) string { return write("a.timer", "[Timer]\nOnCalendar="+when+"\n") }
	for name, c := range map[string]struct {
		args []string
		code int
		want string // in the output or in the error
	}{
		"a crontab with CRON_TZ":      {[]string{"crontab", write("a.cron", "CRON_TZ=Asia/Tokyo\n@daily true\n")}, 0, "timezone: Asia/Tokyo"},
		"an entry before CRON_TZ":     {[]string{"crontab", write("b.cron", "@daily true\nCRON_TZ=Asia/Tokyo\n")}, exitUsage, "has no name"},
		"an empty zone":               {[]string{"crontab", "--timezone", "", filepath.Join(dir, "a.cron")}, exitUsage, "it is empty: give the name"},
		"a crontab with --timezone":   {[]string{"crontab", "--timezone", "Asia/Tokyo", filepath.Join(dir, "b.cron")}, 0, "timezone: Asia/Tokyo"},
		"a timer with a zone":         {[]string{"systemd", timer("*-*-* 03:00:00 UTC"), service}, 0, "schedule:"},
		"a crontab without any entry": {[]string{"crontab", write("c.cron", "# nothing\n")}, 0, ""},
		"a CronJob has no machine":    {[]string{"cronjob", write("d.yaml", "kind: CronJob\n")}, 1, "not everything"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"import"}, c.args...), strings.NewReader(""), &out, &errs)
		if code != c.code || !strings.Contains(out.String()+errs.String(), c.want) {
			t.Errorf("%s: got exit code %d, %s%s; want %d, %q", name, code, &out, &errs, c.code, c.want)
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"import", "systemd", timer("daily"), service}, strings.NewReader(""), &out, &errs); code != exitUsage {
		t.Errorf("a timer without a zone: got exit code %d, %s%s", code, &out, &errs)
	}
}
