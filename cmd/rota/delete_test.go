package main

import (
	"bytes"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
)

// TestARemovalListsTheRunsThatItCancels removes a job without a schedule. One of its runs waits, and another one has begun.
func TestARemovalListsTheRunsThatItCancels(t *testing.T) {
	fake := newFakeCluster()
	fake.put("old", job.Spec{Command: []string{"true"}}, job.Origin{Kind: job.OriginAPI})
	for id, state := range map[string]job.State{"begun": job.Running, "waits": job.Pending} {
		fake.runs["old/"+id] = job.Run{Job: "old", ID: id, Kind: job.KindManual, State: state, Due: time.Now().Add(time.Hour)}
	}
	server := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
	t.Cleanup(server.Close)
	t.Setenv("HOME", t.TempDir())
	file := files.Write(t, filepath.Join(t.TempDir(), "none.yaml"), "version: 1\njobs: {}\n")
	for _, command := range []string{"diff " + file + " --prune", "delete old"} {
		var out, errs bytes.Buffer
		run(t.Context(), append(strings.Fields(command), "--server", server.URL), strings.NewReader(""), &out, &errs)
		text := out.String() + errs.String()
		if strings.Count(text, "will cancel run: old/waits\n") != 1 || strings.Contains(text, "old/begun") || strings.Contains(text, "more") {
			t.Errorf("rota %s: got\n%s", command, text)
		}
	}
}
