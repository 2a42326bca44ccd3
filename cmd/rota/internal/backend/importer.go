package backend

import (
	"context"
	"fmt"

	"github.com/rota-scheduler/rota/cmd/rota/internal/importer"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// maxImported is how many jobs Import translates at once. To read the job file takes time with the square of their number.
const maxImported = 2000

// Import translates schedules of another tool into a job file, as `rota import` does.
func (b *Backend) Import(ctx context.Context, r api.ImportRequest) (api.ImportView, error) {
	if _, err := schedule.LoadZone(r.Timezone); err != nil {
		return api.ImportView{}, invalidField("timezone", "%q %v: write it as Europe/Berlin", r.Timezone, err)
	}
	var res importer.Result
	err := importer.Translate(importer.Options{
		Kind: r.Kind, System: &r.System, Timezone: r.Timezone, Stop: func() bool { return ctx.Err() != nil },
	}, []string{importer.Stdin}, map[string]string{importer.Stdin: r.Text}, &res)
	if err != nil {
		return api.ImportView{}, invalidField("text", "%v", err)
	}
	if ctx.Err() != nil {
		return api.ImportView{}, invalidField("text", "the translation took too long: split the text")
	}
	if n := len(res.Jobs); n > maxImported {
		return api.ImportView{}, invalidField("text",
			"the text has %d jobs, and %d can be translated at once: split it, or use `rota import`", n, maxImported)
	}
	file, err := res.JobFile()
	if err != nil {
		return api.ImportView{}, err
	}
	v := api.ImportView{File: string(file), Jobs: len(res.Jobs), Complete: res.Complete()}
	for _, p := range res.Problems {
		v.Notes = append(v.Notes, api.ImportNote{Place: placeOf(p), Text: p.Text, Lost: !p.Note})
	}
	switch {
	case v.Jobs > 0:
		return v, nil
	case len(v.Notes) == 0:
		return v, invalidField("text", "no job was found in the text")
	}
	mistakes := &api.Invalid{}
	for _, n := range v.Notes {
		message := n.Text
		if n.Place != "" {
			message = n.Place + ": " + n.Text
		}
		mistakes.Errors = append(mistakes.Errors, api.FieldError{Field: "text", Message: message})
	}
	return v, mistakes
}

// placeOf names the place of a problem in the text; "" for the whole text.
func placeOf(p importer.Problem) string {
	place := p.File
	if place == importer.Stdin {
		place = ""
	}
	switch {
	case p.Line == 0:
		return place
	case place == "":
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("line %d, %s", p.Line, place)
}
