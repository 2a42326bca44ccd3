package election

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Limits and defaults of the timings.
const (
	DefaultTTL = 5 * time.Second
	// MinTTL is the shortest lease that an etcd with its default election timeout grants.
	MinTTL = 2 * time.Second

	maxRenewTimeout = 700 * time.Millisecond
)

// LeaseConfig says how a lease is renewed. Zero fields mean their defaults.
type LeaseConfig struct {
	// TTL is how long etcd keeps the lease after a renewal. It is requested in whole seconds, rounded up; the TTL that etcd
	// grants is the one that counts. Default 5 s, at least 2 s.
	TTL time.Duration
	// RenewEvery is the time from one successful renewal to the next. Default TTL/5.
	RenewEvery time.Duration
	// RenewTimeout bounds one renewal; the next try uses another endpoint. Default TTL/5, at most 700 ms.
	RenewTimeout time.Duration
	// Margin is how long before etcd may expire the lease its holder gives it up. It is the time to stop in, and it allows for
	// clocks that run at different speeds. Default TTL/5.
	Margin time.Duration
}

// WithDefaults returns c with its zero fields filled.
func (c LeaseConfig) WithDefaults() LeaseConfig {
	c.TTL = cmp.Or(c.TTL, DefaultTTL)
	c.RenewEvery = cmp.Or(c.RenewEvery, c.TTL/5)
	c.RenewTimeout = cmp.Or(c.RenewTimeout, min(c.TTL/5, maxRenewTimeout))
	c.Margin = cmp.Or(c.Margin, c.TTL/5)
	return c
}

// Validate reports every value and every relation between values that cannot work.
func (c LeaseConfig) Validate() error {
	var errs []error
	if c.TTL < MinTTL {
		errs = append(errs, fmt.Errorf("ttl %v is below %v", c.TTL, MinTTL))
	}
	if c.RenewEvery <= 0 || c.RenewTimeout <= 0 || c.Margin <= 0 {
		errs = append(errs, fmt.Errorf("renew every %v, renew timeout %v and margin %v must be positive",
			c.RenewEvery, c.RenewTimeout, c.Margin))
	}
	// A lease must survive one renewal without an answer: an interval, a failed try, and a second try.
	if need := c.RenewEvery + 2*c.RenewTimeout + c.Margin; need > c.TTL {
		errs = append(errs, fmt.Errorf("ttl %v is too short for renew every %v, two tries of %v and margin %v",
			c.TTL, c.RenewEvery, c.RenewTimeout, c.Margin))
	}
	return errors.Join(errs...)
}

// Config says where an Elector campaigns, under which name, and how fast. Zero timings mean their defaults, as in LeaseConfig.
type Config struct {
	// Prefix is the folder of the election keys, for example "/rota/election/". It ends with a slash.
	Prefix string
	// Name and Addr are shown to others as the candidate's value. No decision depends on them.
	Name string
	Addr string

	TTL          time.Duration
	RenewEvery   time.Duration
	RenewTimeout time.Duration
	Margin       time.Duration

	// Clock is replaced where a test or a simulation owns the clocks.
	Clock Clock
	// Contact is shared with other parts of the process that get answers from the quorum. They read the same Clock. Nil means
	// that only the Elector's own answers count.
	Contact *QuorumContact
}

// WithDefaults returns c with its zero timings, clock and contact filled.
func (c Config) WithDefaults() Config {
	l := c.lease().WithDefaults()
	c.TTL, c.RenewEvery, c.RenewTimeout, c.Margin = l.TTL, l.RenewEvery, l.RenewTimeout, l.Margin
	if c.Clock == nil {
		c.Clock = SystemClock
	}
	if c.Contact == nil {
		c.Contact = new(QuorumContact)
	}
	return c
}

// Validate reports everything in c that cannot work.
func (c Config) Validate() error {
	var errs []error
	if len(c.Prefix) < 2 || !strings.HasSuffix(c.Prefix, "/") {
		errs = append(errs, fmt.Errorf("prefix %q must be a folder that ends with a slash", c.Prefix))
	}
	if c.Name == "" {
		errs = append(errs, errors.New("name is empty"))
	}
	return errors.Join(append(errs, c.lease().Validate())...)
}

func (c Config) lease() LeaseConfig {
	return LeaseConfig{TTL: c.TTL, RenewEvery: c.RenewEvery, RenewTimeout: c.RenewTimeout, Margin: c.Margin}
}
