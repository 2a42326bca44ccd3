package importer

import "fmt"

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
	Kind   string
	System bool // of a crontab: each line has a user behind its time
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
			Crontab(file, texts[file], CrontabOptions{System: o.System, Timezone: o.Timezone}, into)
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
