package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// notesField is the hidden field with the notes about an imported text, one on each line.
const notesField = "notes"

// maxApplied is the length of the longest job file that the form for job files can send, as a form encodes it.
const maxApplied = api.MaxBody - 256<<10

// maxNotes is how many notes about a translation the page shows.
const maxNotes = 100

// importKinds has the kinds of texts that the page imports, as the form and as the API name them.
var importKinds = [][2]string{
	{"crontab of a user", "crontab"},
	{"crontab of a system, with a user in each line", "crontab"},
	{"CronJobs of Kubernetes, YAML", "cronjob"},
	{"units of systemd, as systemctl cat prints them", "systemd"},
	{"jobs of dkron, JSON", "dkron"},
}

func prepareImport(_ *site, _ *http.Request, f *form) error {
	var kinds []string
	for _, kind := range importKinds {
		kinds = append(kinds, kind[0])
	}
	f.Title, f.Verb, f.Back = "Import schedules", "Translate", "/jobs"
	f.Facts = []string{
		"The schedules of another tool become a job file. Nothing is stored: you see the file, with everything that it cannot say, " +
			"before you apply it.",
	}
	f.Fields = []field{
		{Name: "kind", Label: "Kind", Kind: "choice", Options: kinds, Value: kinds[0], Help: "The tool that the text is from."},
		{
			Name: "text", Label: "Text", Kind: "code", Example: "30 2 * * * /usr/local/bin/backup",
			Help: "At most 256 KiB and 2000 jobs. For systemd, paste the output of: systemctl cat backup.timer backup.service",
		},
		{
			Name: "timezone", Label: "Time zone", Kind: "text", Example: "Europe/Berlin",
			Help: "Of the machine that a crontab or units come from. Empty: UTC.",
		},
	}
	return nil
}

// performImport translates a text, and shows the form that applies job files, with the translation.
func performImport(s *site, r *http.Request, f *form) (string, error) {
	ask := api.ImportRequest{
		Text: f.value("text"), Timezone: strings.TrimSpace(f.value("timezone")), System: f.value("kind") == importKinds[1][0],
	}
	for _, kind := range importKinds {
		if kind[0] == f.value("kind") {
			ask.Kind = kind[1]
		}
	}
	if strings.TrimSpace(ask.Text) == "" {
		return "", wrong("text", "Paste the text of the schedules.")
	}
	var v api.ImportView
	if err := s.ops.Do(r, http.MethodPost, "/v1/import", nil, ask, &v); err != nil {
		return "", err
	}
	if len(url.QueryEscape(v.File)) > maxApplied {
		const much = "The job file has %d jobs, too many for one form: import a part of the text."
		return "", wrong("text", fmt.Sprintf(much, v.Jobs))
	}
	*f = form{Action: "apply"}
	if err := prepareApply(s, r, f); err != nil {
		return "", err
	}
	f.Title, f.Preview = "Apply the imported schedules", true
	made := verb(v.Jobs, "job was", "jobs were") + " translated. Check the file, and correct it if needed."
	f.Facts = append([]string{made}, f.Facts...)
	for _, n := range v.Notes[:min(len(v.Notes), maxNotes)] {
		text := cut(n.Text, 300)
		if n.Place != "" {
			text = n.Place + ": " + text
		}
		if !n.Lost {
			text = "note: " + text
		}
		f.Notes = append(f.Notes, strings.Join(strings.Fields(text), " "))
	}
	if more := len(v.Notes) - maxNotes; more > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("and %d more: import a part of the text to see them", more))
	}
	for i := range f.Fields {
		switch f.Fields[i].Name {
		case "file":
			f.Fields[i].Value = v.File
		case notesField:
			f.Fields[i].Value = strings.Join(f.Notes, "\n")
		}
	}
	return "", nil
}
