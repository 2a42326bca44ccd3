package send

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/specialized/generic"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// webhookScheme is shoutrrr's name for a plain webhook.
const webhookScheme = "generic"

// webhook posts m to a URL such as generic://host/path or generic+http://host/path. It reads the URL as shoutrrr does, with
// template=json, @header and so on. Unlike shoutrrr, it stops when ctx ends and follows no redirect.
func webhook(ctx context.Context, full string, m notify.Message, reach *dial.Guard) error {
	u, err := url.Parse(full)
	if err != nil {
		return errors.New("url cannot be parsed")
	}
	var service generic.Service
	header := headers(u)
	if strings.Contains(u.Scheme, "+") {
		if u, err = service.GetConfigURLFromCustom(u); err != nil {
			return fmt.Errorf("read url: %w", err)
		}
	}
	if err := service.Initialize(u, nil); err != nil {
		return fmt.Errorf("read url: %w", err)
	}
	c := service.Config
	params, contentType := types.Params{c.MessageKey: m.Text()}, "text/plain; charset=utf-8"
	if c.Template != "" {
		params, contentType = types.Params{c.TitleKey: m.Title, c.MessageKey: m.Body}, c.ContentType
	}
	body, err := service.GetPayload(c, params)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if m.Template != "" {
		body, contentType = filled(m, header.Get("Content-Type"))
	}
	req, err := http.NewRequestWithContext(ctx, c.RequestMethod, c.WebhookURL().String(), body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header = header
	req.Header.Set("Content-Type", contentType)
	return do(req, reach)
}

// filled returns the body that the template of m makes, and its type. given is the type that the URL sets; "" if it sets none.
// If the template fails, the body is the text of m with the cause, because a message in a wrong form is better than none.
func filled(m notify.Message, given string) (body io.Reader, contentType string) {
	text, err := m.Fill()
	switch {
	case err != nil:
		return strings.NewReader(m.Text() + "\nthe template failed: " + err.Error()), "text/plain; charset=utf-8"
	case given != "":
		return strings.NewReader(text), given
	case json.Valid([]byte(text)):
		return strings.NewReader(text), "application/json"
	}
	return strings.NewReader(text), "text/plain; charset=utf-8"
}

// refusals are the statuses with which a target refuses one message.
var refusals = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// do makes a request within the guard, without following redirects. An answer other than 2xx is an error.
func do(req *http.Request, reach *dial.Guard) error {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		return reach.Dial(ctx, &net.Dialer{Timeout: 10 * time.Second}, network, addr)
	}
	client := http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dial, DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols { // its body does not end, and ignores the context
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // lets the server finish its answer
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if text := "answer is " + resp.Status; slices.Contains(refusals, resp.StatusCode) {
			return &Refusal{text}
		}
		return fmt.Errorf("answer is %s", resp.Status)
	}
	return nil
}

// headers returns the headers that a URL sets with @Name=value.
func headers(u *url.URL) http.Header {
	h := http.Header{}
	for key, values := range u.Query() {
		if name, ok := strings.CutPrefix(key, "@"); ok && name != "" {
			h.Set(name, values[0])
		}
	}
	return h
}
