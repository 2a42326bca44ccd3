package node

import (
	"net/http"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/web"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// page returns the web page, which shows and does what ops can.
func page(ops api.Operations) http.Handler { return web.New(ops, web.Config{Definition: definition}) }

// definition writes a job in the form of a job file.
func definition(name string, spec *job.Spec) (string, error) {
	text, err := config.Marshal(map[string]job.Spec{name: *spec})
	return string(text), err
}
