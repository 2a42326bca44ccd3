package send

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// Services delivers to whatever notify.Schemes names: webhooks by itself, everything else by way of shoutrrr.
//
// Shoutrrr cannot be told to stop: a call that has not returned when its context ends is left behind, and nothing else is sent
// to its URL before it returns, so that a service that hangs costs no other one its calls. The same goes for the reading of a file
// that a URL names. Close waits for those.
type Services struct {
	left  chan struct{} // holds a token for each call of shoutrrr, and each reading, under way
	calls sync.WaitGroup

	mu  sync.Mutex
	out map[string]bool // guarded by mu: URLs of the calls under way, and those whose files are being read
}

var _ Sender = (*Services)(nil)

// maxCalls is how many calls of shoutrrr and readings may be under way, those that were left behind included.
const maxCalls = 64

// NewServices returns what delivers to all services.
func NewServices() *Services {
	return &Services{left: make(chan struct{}, maxCalls), out: make(map[string]bool)}
}

// closeTimeout bounds the wait for calls that were left behind. Most services of shoutrrr return within it.
const closeTimeout = 2 * time.Second

// Close waits for what was left behind, for a while. Nothing may be sent any more.
func (s *Services) Close() {
	returned := make(chan struct{})
	go func() { // ends with the last call; the process ends if one never returns
		defer close(returned)
		s.calls.Wait()
	}()
	select {
	case <-returned:
	case <-time.After(closeTimeout):
	}
}

// Send delivers m to where ref leads, with its references resolved here.
func (s *Services) Send(ctx context.Context, ref string, m notify.Message) error {
	full, secrets, err := s.resolve(ctx, ref)
	if err != nil {
		return fmt.Errorf("resolve url on this replica: %w", err)
	}
	hide := executor.NewRedactor(nil, secretsOf(full, secrets))
	scheme, _, _ := strings.Cut(full, ":")
	service, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	switch {
	case !slices.Contains(notify.Schemes(), service):
		err = errors.New("url has no scheme that is known")
	case service == webhookScheme:
		err = webhook(ctx, full, m)
	default:
		err = s.shout(ctx, service, full, m)
	}
	if err != nil {
		return errors.New(flat(hide.String(err.Error())))
	}
	return nil
}

// resolve returns ref with its references replaced by their values, and those. A file may be on a file server that does not answer:
// then its reading is left behind, as a call is, and no other is begun for the same ref.
func (s *Services) resolve(ctx context.Context, ref string) (full string, secrets []string, err error) {
	if !refs.Has(ref) {
		return ref, nil, nil
	}
	if err := s.begin(ref); err != nil {
		return "", nil, err
	}
	var values refs.Resolver
	type answer struct {
		full string
		err  error
	}
	read := make(chan answer, 1)
	s.calls.Go(func() { // waited for by Close
		full, err := values.Expand(ref)
		s.end(ref)
		read <- answer{full, err}
	})
	select {
	case a := <-read:
		return a.full, values.Secrets(), a.err
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
}

// shout sends by way of shoutrrr.
func (s *Services) shout(ctx context.Context, service, full string, m notify.Message) error {
	if err := s.begin(full); err != nil {
		return err
	}
	result := make(chan error, 1)
	s.calls.Go(func() { // waited for by Close
		err := guarded(service, full, m)
		s.end(full)
		result <- err
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin takes a call's place.
func (s *Services) begin(full string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out[full] {
		return errors.New("the last sending has not returned")
	}
	select {
	case s.left <- struct{}{}:
	default:
		return fmt.Errorf("%d sendings have not returned", maxCalls)
	}
	s.out[full] = true
	return nil
}

func (s *Services) end(full string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.out, full)
	<-s.left
}

// titled are the services that show a title, so that it need not be the first line of the text.
var titled = []string{"bark", "gotify", "ntfy", "pushbullet", "pushover", "smtp"}

// guarded is call without its panics: they are not ours, and a replica must not end by them.
func guarded(service, full string, m notify.Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", service, v)
		}
	}()
	return call(service, full, m)
}

func call(service, full string, m notify.Message) error {
	located, err := new(router.ServiceRouter).Locate(full)
	if err != nil {
		return err
	}
	params := types.Params{}
	if slices.Contains(titled, service) {
		params.SetTitle(m.Title)
		return located.Send(m.Body, &params)
	}
	return located.Send(m.Text(), &params)
}

// minPart is the length from which a part of a URL is taken for a token, in bytes, rather than for a word such as "v1".
const minPart = 4

// secretsOf are the parts of a URL that no error may show, besides the values of its references: all but scheme and host,
// since many services have their tokens in the path. Where the host is none, as with slack://, it is one, too.
func secretsOf(full string, values []string) []string {
	parts := []string{full}
	if u, err := url.Parse(full); err == nil {
		if service, _, _ := strings.Cut(u.Scheme, "+"); !strings.Contains(u.Hostname(), ".") && service != webhookScheme && service != "smtp" {
			parts = append(parts, u.Host)
		}
		if u.User != nil {
			password, _ := u.User.Password()
			parts = append(parts, u.User.Username(), password)
		}
		parts = append(parts, u.Fragment, u.RawQuery, u.Path)
		parts = append(parts, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return len(p) < minPart })
	parts = append(parts, values...)
	for _, p := range slices.Clone(parts) {
		parts = append(parts, url.QueryEscape(p), url.PathEscape(p))
	}
	return parts
}

// maxError bounds what an error says, in bytes.
const maxError = 300

// flat is a text in one line.
func flat(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
