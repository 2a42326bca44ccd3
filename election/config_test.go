package election

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsFollowTheTTL(t *testing.T) {
	for _, test := range []struct{ give, want LeaseConfig }{
		{LeaseConfig{}, LeaseConfig{5 * time.Second, time.Second, 700 * time.Millisecond, time.Second}},
		{LeaseConfig{TTL: MinTTL}, LeaseConfig{2 * time.Second, 400 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond}},
		{LeaseConfig{TTL: time.Minute}, LeaseConfig{time.Minute, 12 * time.Second, 700 * time.Millisecond, 12 * time.Second}},
		{LeaseConfig{Margin: 2 * time.Second}, LeaseConfig{5 * time.Second, time.Second, 700 * time.Millisecond, 2 * time.Second}},
	} {
		got := test.give.WithDefaults()
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("defaults of %+v (-want +got):\n%s", test.give, diff)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("defaults of %+v: got %v, want them valid", test.give, err)
		}
	}
}

func TestAConfigThatCannotWorkIsRejected(t *testing.T) {
	good := Config{Prefix: "/rota/election/", Name: "a"}.WithDefaults()
	if err := good.Validate(); err != nil {
		t.Fatalf("Validate of a good config: got %v", err)
	}
	for want, change := range map[string]func(*Config){
		"prefix":            func(c *Config) { c.Prefix = "/rota/election" },
		`prefix "/"`:        func(c *Config) { c.Prefix = "/" },
		"name is empty":     func(c *Config) { c.Name = "" },
		"below 2s":          func(c *Config) { c.TTL = time.Second },
		"must be positive":  func(c *Config) { c.RenewEvery = -time.Second },
		"two tries of":      func(c *Config) { c.RenewTimeout = 2 * time.Second },
		"and margin 4.9s":   func(c *Config) { c.Margin = 4900 * time.Millisecond },
		"for renew every 4": func(c *Config) { c.RenewEvery = 4 * time.Second },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: got %v, want an error with %q", err, want)
		}
	}
}
