package send_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// A job may define a notifier. Its author must neither reach the leader's machine nor read the leader's secrets.
func TestAGuardedNotifierRefuses(t *testing.T) {
	host, got := hook(t, http.StatusNoContent)
	t.Setenv("DB_PASSWORD", "hunter2")
	closed := dial.New(dial.Config{Setting: "notify.http"}, nil)
	open := dial.New(dial.Config{Setting: "notify.http", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
	_, port, _ := strings.Cut(host, ":")
	for _, tt := range []struct {
		name, url, want string
		cfg             send.ServicesConfig
	}{
		{"loopback", "generic+http://" + host + "/", "loopback", send.ServicesConfig{Reach: closed}},
		{"loopback by its name", "generic+http://localhost:" + port + "/", "loopback", send.ServicesConfig{Reach: closed}},
		{"loopback, by a service of the library", "gotify://" + host + "/AzyoeNS.D4iJLVa?disabletls=yes", "loopback", send.ServicesConfig{Reach: closed}},
		{"a metadata service", "generic+http://169.254.169.254/latest", "metadata", send.ServicesConfig{Reach: open}},
		{"mail to a metadata service", "smtp://u:p@169.254.169.254:25/?from=a@b.c&to=a@b.c", "metadata", send.ServicesConfig{Reach: open}},
		{"a host in place of a default one", "googlechat://" + host + "/v1/spaces/a/messages?key=a&token=b", "loopback", send.ServicesConfig{Reach: closed}},
		{"another one", "pagerduty://" + host + "/eb243592faa24ba2a5511afdf565c889", "loopback", send.ServicesConfig{Reach: closed}},
		{"and another one", "opsgenie://" + host + "/eb243592-faa2-4ba2-a551-1afdf565c889", "loopback", send.ServicesConfig{Reach: closed}},
		{"a host among the parameters", "signal://192.0.2.1/+491111111111/+492222222222?host=127.0.0.1&port=" + port, "loopback", send.ServicesConfig{Reach: closed}},
		{"the default host of a service", "signal:///+491111111111/+492222222222", "loopback", send.ServicesConfig{Reach: closed}},
		{"no host of a mail server", "smtp://u:p@:25/?from=a@b.c&to=a@b.c", "loopback", send.ServicesConfig{Reach: closed}},
		{"a variable", "generic+http://" + host + "/${env:DB_PASSWORD}", "not in notify.refs.env", send.ServicesConfig{Refs: &refs.Policy{Setting: "notify.refs"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := guarded(t, tt.cfg).Send(t.Context(), tt.url, message)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want a refusal that says %q", err, tt.want)
			}
		})
	}
	select {
	case r := <-got:
		t.Errorf("a request arrived: %+v", r)
	default:
	}
	if err := guarded(t, send.ServicesConfig{Reach: open}).Send(t.Context(), "generic+http://"+host+"/", message); err != nil {
		t.Errorf("an address that is allowed: %v", err)
	}
}
