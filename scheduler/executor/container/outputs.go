package container

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// outputPath is the file for outputs in a container. It is copied into the container before its start and out of it after its end,
// because the worker and the engine need not share a file system.
const outputPath = "/rota-output"

// putOutputFile makes the file for outputs, empty and writable by every user.
func (e *engine) putOutputFile(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	head := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(outputPath, "/"), Mode: 0o666}
	if err := errors.Join(w.WriteHeader(head), w.Close()); err != nil {
		return err
	}
	root := url.Values{"path": {"/"}}
	resp, err := e.open(ctx, http.MethodPut, "/containers/"+id+"/archive", root, archive.Bytes(), "application/x-tar")
	if err != nil {
		return fmt.Errorf("make the file of $ROTA_OUTPUT: %w", err)
	}
	return resp.Body.Close()
}

// outputs returns what the program wrote to the file for outputs. If the program removed the file, there are none. mistake says why
// the file cannot be used. err means that it was not read, and may be read later.
func (e *engine) outputs(ctx context.Context, id string) (list map[string]string, mistake, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := e.open(ctx, http.MethodGet, "/containers/"+id+"/archive", url.Values{"path": {outputPath}}, nil, "")
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	}
	defer resp.Body.Close()
	files := tar.NewReader(resp.Body)
	head, err := files.Next()
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	case head.Typeflag != tar.TypeReg:
		return nil, errors.New("$ROTA_OUTPUT is not a regular file"), nil
	}
	text, err := io.ReadAll(io.LimitReader(files, job.MaxOutputs+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("$ROTA_OUTPUT cannot be read: %w", err)
	case len(text) > job.MaxOutputs:
		return nil, fmt.Errorf("$ROTA_OUTPUT is larger than %d KiB", job.MaxOutputs>>10), nil
	}
	if list, err = job.ParseOutputs(string(text)); err != nil {
		return nil, fmt.Errorf("$ROTA_OUTPUT: %w", err), nil
	}
	return list, nil, nil
}
