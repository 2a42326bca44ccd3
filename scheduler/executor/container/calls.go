package container

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// state is what the engine knows about one container.
type state struct {
	ID     string
	Name   string
	Config struct{ Labels map[string]string }
	State  struct {
		Status    string // created, running, paused, restarting, removing, exited or dead
		Running   bool
		OOMKilled bool
		ExitCode  int
		Error     string
		StartedAt time.Time

		FinishedAt time.Time // by the engine's clock; the zero time while it runs
	}

	engineLost bool // the engine was not reachable between the start and the end of the container
}

// began reports whether the container was ever started.
func (s *state) began() bool {
	return s.State.Running || s.State.Status == "exited" || s.State.Status == "dead"
}

func (e *engine) inspect(ctx context.Context, id string) (s state, err error) {
	err = e.call(ctx, http.MethodGet, "/containers/"+id+"/json", nil, nil, &s)
	s.Name = strings.TrimPrefix(s.Name, "/")
	return s, err
}

// listed is a container in a list.
type listed struct {
	ID     string `json:"Id"`
	Names  []string
	Labels map[string]string
}

func (l *listed) name() string {
	if len(l.Names) == 0 {
		return ""
	}
	return strings.TrimPrefix(l.Names[0], "/")
}

// list returns the containers that have all the labels, those that have ended included.
func (e *engine) list(ctx context.Context, labels ...string) (all []listed, err error) {
	filters, err := json.Marshal(map[string][]string{"label": labels})
	if err != nil {
		return nil, err
	}
	err = e.call(ctx, http.MethodGet, "/containers/json", url.Values{"all": {"1"}, "filters": {string(filters)}}, nil, &all)
	return all, err
}

func (e *engine) create(ctx context.Context, name string, body *creation) (id string, err error) {
	var made struct{ ID string }
	err = e.call(ctx, http.MethodPost, "/containers/create", url.Values{"name": {name}}, body, &made)
	return made.ID, err
}

func (e *engine) start(ctx context.Context, id string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/start", nil, nil, nil)
}

func (e *engine) rename(ctx context.Context, id, name string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/rename", url.Values{"name": {name}}, nil, nil)
}

// kill sends a signal. The engine answers 409 if the container does not run.
func (e *engine) kill(ctx context.Context, id, signal string) error {
	return e.call(ctx, http.MethodPost, "/containers/"+id+"/kill", url.Values{"signal": {signal}}, nil, nil)
}

// remove removes a container, and kills it first if it runs. It returns nil if the container is gone, and an error with the status
// 409 if a removal is under way.
func (e *engine) remove(ctx context.Context, id string) error {
	err := e.call(ctx, http.MethodDelete, "/containers/"+id, url.Values{"force": {"1"}, "v": {"1"}}, nil, nil)
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// wait returns when the container does not run.
func (e *engine) wait(ctx context.Context, id string) error {
	resp, err := e.open(ctx, http.MethodPost, "/containers/"+id+"/wait", url.Values{"condition": {"not-running"}}, nil, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var ended struct{ StatusCode int }
	if err := json.NewDecoder(resp.Body).Decode(&ended); err != nil {
		return fmt.Errorf("wait for container: %w", err)
	}
	return nil
}

// breaks reports whether the engine ends a connection before ctx ends. It does if it stops or dies, however soon it starts again.
func (e *engine) breaks(ctx context.Context) bool {
	resp, err := e.open(ctx, http.MethodGet, "/events", nil, nil, "")
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return ctx.Err() == nil && !refused(err)
}

// hasImage reports whether the engine has the image.
func (e *engine) hasImage(ctx context.Context, image string) (bool, error) {
	err := e.call(ctx, http.MethodGet, "/images/"+image+"/json", nil, nil, nil)
	if hasStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// pull pulls an image. The engine reports most mistakes in the stream of its progress.
func (e *engine) pull(ctx context.Context, image string) error {
	query := url.Values{"fromImage": {image}}
	if !strings.Contains(image, "@") && !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
		query.Set("tag", "latest") // otherwise the engine pulls all tags
	}
	resp, err := e.open(ctx, http.MethodPost, "/images/create", query, nil, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	progress := json.NewDecoder(resp.Body)
	for progress.More() {
		var line struct{ Error string }
		if err := progress.Decode(&line); err != nil {
			return fmt.Errorf("read progress: %w", err)
		}
		if line.Error != "" {
			return &apiError{status: http.StatusInternalServerError, text: line.Error}
		}
	}
	return ctx.Err()
}

// logs opens the output since a time, with the time of each message. follow: it ends when the container does.
func (e *engine) logs(ctx context.Context, id string, since time.Time, follow bool) (*http.Response, error) {
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "timestamps": {"1"}}
	if follow {
		query.Set("follow", "1")
	}
	if !since.IsZero() {
		query.Set("since", fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()))
	}
	return e.open(ctx, http.MethodGet, "/containers/"+id+"/logs", query, nil, "")
}

// attemptOf returns the number of the attempt in the label of a container; 0 if it has none.
func attemptOf(labels map[string]string) int {
	n, _ := strconv.Atoi(labels[labelAttempt])
	return n
}
