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
	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// Services delivers to all services of notify.Schemes. It sends webhooks itself and uses shoutrrr for all other services.
//
// A call of shoutrrr cannot be canceled. If it has not returned when its context ends, Services abandons it, and makes no other
// call for the same URL before it returns. So a service that hangs cannot use up the calls for other services. The same holds
// for reading a file that a URL names. Close waits for abandoned calls.
type Services struct {
	cfg   ServicesConfig
	slots chan struct{} // holds a token for each call under way
	calls sync.WaitGroup

	mu   sync.Mutex
	busy map[string]chan struct{} // guarded by mu: for each URL with a call under way, a channel that is closed when it returns
}

var _ Sender = (*Services)(nil)

// maxCalls is the largest number of calls under way, including abandoned ones.
const maxCalls = 64

// ServicesConfig says what notifiers may use and reach. The zero value allows everything.
type ServicesConfig struct {
	Refs  *refs.Policy // the references that URLs may use; nil: all
	Reach *dial.Guard  // the addresses that notifiers may reach; nil: all
}

// NewServices returns a sender for all services.
func NewServices(cfg ServicesConfig) *Services {
	return &Services{cfg: cfg, slots: make(chan struct{}, maxCalls), busy: make(map[string]chan struct{})}
}

// closeTimeout bounds the wait for abandoned calls. Most services of shoutrrr return within this time.
const closeTimeout = 2 * time.Second

// Close waits a short time for abandoned calls. Send must not be called afterwards.
func (s *Services) Close() {
	returned := make(chan struct{})
	go func() { // ends with the last call; a call that never returns ends with the process
		defer close(returned)
		s.calls.Wait()
	}()
	select {
	case <-returned:
	case <-time.After(closeTimeout):
	}
}

// Send delivers m to the URL ref. References in ref are resolved on this replica.
func (s *Services) Send(ctx context.Context, ref string, m notify.Message) error {
	full, secrets, err := s.resolve(ctx, ref)
	if err != nil {
		return fmt.Errorf("resolve url on this replica: %w", err)
	}
	hide := executor.NewRedactor(nil, secretsOf(full, secrets))
	if m.Signal != nil {
		if err = ping(ctx, full, *m.Signal, s.cfg.Reach); err != nil {
			return errors.New(oneLine(hide.String(err.Error())))
		}
		return nil
	}
	scheme, _, _ := strings.Cut(full, ":")
	service, _, _ := strings.Cut(strings.ToLower(scheme), "+")
	if slices.Contains(notify.Schemes(), service) {
		err = s.deliver(ctx, service, full, m)
	} else {
		err = errors.New("url has no known scheme")
	}
	if err == nil {
		return nil
	}
	text := oneLine(hide.String(err.Error()))
	if _, refused := errors.AsType[*Refusal](err); refused {
		return &Refusal{text}
	}
	return errors.New(text)
}

// deliver sends m to the URL full, unless the guard refuses its host.
func (s *Services) deliver(ctx context.Context, service, full string, m notify.Message) error {
	if err := s.checkHost(ctx, service, full); err != nil {
		return err
	}
	if service == webhookScheme {
		return webhook(ctx, full, m, s.cfg.Reach)
	}
	return s.call(ctx, full, func() error { return shout(service, full, m) })
}

// resolve returns ref with its references replaced by their values, and these values. A file may be on a file server that does
// not answer, so reading it is a call that may be abandoned.
func (s *Services) resolve(ctx context.Context, ref string) (full string, secrets []string, err error) {
	if !refs.Has(ref) {
		return ref, nil, nil
	}
	values := refs.Resolver{Policy: s.cfg.Refs}
	var expanded string
	err = s.call(ctx, ref, func() (err error) {
		expanded, err = values.Expand(ref)
		return err
	})
	if err != nil { // the call may still be under way, so its results must not be read
		return "", nil, err
	}
	return expanded, values.Secrets(), nil
}

// call runs f, and abandons it if ctx ends before f returns. If another call for this URL is under way, it waits for that one, and
// returns an error after turnPatience.
func (s *Services) call(ctx context.Context, url string, f func() error) error {
	if err := s.acquire(ctx, url); err != nil {
		return err
	}
	result := make(chan error, 1)
	s.calls.Go(func() { // Close waits for it
		err := f()
		s.release(url)
		result <- err
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnPatience is how long a call waits for another one for the same URL. Two notifiers of one URL often send at the same time.
const turnPatience = 2 * time.Second

// acquire begins a call for a URL.
func (s *Services) acquire(ctx context.Context, url string) error {
	patience := time.After(turnPatience)
	for {
		other, err := s.tryAcquire(url)
		if other == nil {
			return err
		}
		select {
		case <-other:
		case <-patience:
			return errors.New("the last sending has not returned")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryAcquire begins a call for a URL, unless another one is under way. Then it returns a channel that is closed when that one
// returns.
func (s *Services) tryAcquire(url string) (other <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.busy[url]; other != nil {
		return other, nil
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return nil, fmt.Errorf("%d sendings have not returned", maxCalls)
	}
	s.busy[url] = make(chan struct{})
	return nil, nil
}

func (s *Services) release(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.busy[url])
	delete(s.busy, url)
	<-s.slots
}

// titled lists the services with a field for the title. For other services, the title is the first line of the text.
var titled = []string{"bark", "gotify", "ntfy", "pushbullet", "pushover", "smtp"}

// shout sends m through shoutrrr. A panic of the library becomes an error, so that it does not end the replica.
func shout(service, full string, m notify.Message) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", service, v)
		}
	}()
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

// minSecret is the length in bytes from which a part of a URL may be a secret. Shorter parts are words such as "v1".
const minSecret = 4

// secretsOf returns the parts of a URL that no error may show: the values of its references, and everything except scheme and
// host. The token of many services is in the path. If the host is not an address, as in slack://, it may be a token too.
func secretsOf(full string, values []string) []string {
	parts := []string{full}
	if u, err := url.Parse(full); err == nil {
		service, _, _ := strings.Cut(u.Scheme, "+")
		if !strings.Contains(u.Hostname(), ".") && service != webhookScheme && service != "smtp" {
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
	parts = slices.DeleteFunc(parts, func(p string) bool { return len(p) < minSecret })
	parts = append(parts, values...)
	for _, p := range slices.Clone(parts) {
		parts = append(parts, url.QueryEscape(p), url.PathEscape(p))
	}
	return parts
}

// maxError bounds the text of an error, in bytes.
const maxError = 300

// oneLine returns text in one line, shortened to maxError.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
