package importer

import (
	"fmt"
	"path/filepath"
)

// The kinds of texts that Translate reads.
const (
	KindCrontab = "crontab"
	KindCronJob = "cronjob"
	KindSystemd = "systemd"
	KindDkron   = "dkron"
)

// Stdin is the name of a text that has no file.
const Stdin = "-"

// Options say how to translate texts.
type Options struct {
	Kind string
	// System says of crontabs whether each line has a user behind its time. Nil: those in /etc/crontab and /etc/cron.d have one.
	System *bool
	// Timezone is the time zone of the machine that crontabs or units come from; empty: UTC.
	Timezone string
	// Stop reports whether the translation must end. Its Result is then incomplete. Nil: it never must.
	Stop func() bool
}

// Translate translates texts, which have the names of their files. files has the names in order. Several units of systemd may
// stand in the text Stdin, as `systemctl cat` prints them.
func Translate(o Options, files []string, texts map[string]string, into *Result) error {
	into.stop = o.Stop
	switch o.Kind {
	case KindCrontab:
		for _, file := range files {
			system := o.System != nil && *o.System || o.System == nil && ofSystem(file)
			Crontab(file, texts[file], CrontabOptions{System: system, Timezone: o.Timezone}, into)
		}
	case KindCronJob:
		for _, file := range files {
			CronJob(file, texts[file], into)
		}
	case KindSystemd:
		units := map[string][]numbered{}
		if text, ok := texts[Stdin]; ok {
			var err error
			if units, err = splitUnits(text); err != nil {
				return err
			}
		}
		for name, text := range texts {
			if name != Stdin {
				units[name] = linesOf(text)
			}
		}
		translateUnits(units, o.Timezone, into)
	case KindDkron:
		for _, file := range files {
			Dkron(file, texts[file], into)
		}
	default:
		return fmt.Errorf("translate schedules: the kind %q is unknown", o.Kind)
	}
	return nil
}

// ofSystem reports whether cron reads a user in each line of a file because of the place of the file.
func ofSystem(file string) bool {
	if file == Stdin {
		return false
	}
	file, err := filepath.Abs(file)
	return err == nil && (file == "/etc/crontab" || filepath.Dir(file) == "/etc/cron.d")
}
