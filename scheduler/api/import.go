package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// Importer translates schedules of other tools.
type Importer interface {
	// Import translates a text into a job file. It reads and stores nothing. It returns *Invalid for a text without any job.
	Import(ctx context.Context, r ImportRequest) (ImportView, error)
}

// MaxImport is the length of the longest text that Import takes, in bytes.
const MaxImport = 256 << 10

// ImportRequest is a text with schedules of another tool.
type ImportRequest struct {
	Kind     string `json:"kind" enum:"crontab,cronjob,systemd,dkron"`
	Text     string `json:"text" minLength:"1" doc:"At most 256 KiB, or 2000 jobs. Units as systemctl cat prints them"`
	System   bool   `json:"system,omitempty" doc:"Of a crontab: each line has a user behind its time, as in /etc/crontab"`
	Timezone string `json:"timezone,omitempty" doc:"Of the machine of a crontab or of units; empty: UTC" example:"Europe/Berlin"`
}

// ImportView is the translation of a text.
type ImportView struct {
	File     string       `json:"file" doc:"A job file"`
	Jobs     int          `json:"jobs" doc:"How many jobs it has"`
	Complete bool         `json:"complete" doc:"Every note has lost: false"`
	Notes    []ImportNote `json:"notes"`
}

// ImportNote is about a part of the text.
type ImportNote struct {
	Place string `json:"place" doc:"A line of the text or of the job file; empty: the whole text"`
	Text  string `json:"text"`
	Lost  bool   `json:"lost" doc:"The part has no translation; otherwise, the note describes a difference in behaviour"`
}

func (s *Server) registerImport(doc huma.API) {
	if s.back.Importer == nil {
		return
	}
	one := newTurn("translates schedules")
	register(s, doc, operation{
		id: "import-schedules", right: auth.Define, bodyDecides: true, method: http.MethodPost, path: "/v1/import",
		summary: "Translate schedules of other tools into a job file, without storing it", errors: []int{413, 429},
	}, func(ctx context.Context, in *struct{ Body ImportRequest }) (*body[ImportView], error) {
		if len(in.Body.Text) > MaxImport {
			return nil, huma.Error413RequestEntityTooLarge("the text is larger than 256 KiB: split it, or use `rota import`")
		}
		return inTurn(ctx, s, one, func(ctx context.Context) (ImportView, error) {
			v, err := s.back.Importer.Import(ctx, in.Body)
			v.Notes = list(v.Notes)
			return v, err
		})
	})
}
