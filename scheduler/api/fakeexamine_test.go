package api_test

import (
	"context"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/doctor"
)

func (f *fake) Verify(ctx context.Context) (v api.VerifyView, err error) {
	if f.verify != nil {
		return f.verify(ctx)
	}
	v.Revision = f.rev
	return v, f.fail()
}

func (f *fake) Doctor(context.Context) (api.DoctorView, error) {
	return api.DoctorView{Node: "q1", Report: doctor.Report{Findings: []doctor.Finding{}}}, f.fail()
}

func (f *fake) Import(_ context.Context, r api.ImportRequest) (api.ImportView, error) {
	return api.ImportView{File: "# " + r.Text, Jobs: 1, Complete: true}, f.fail()
}
