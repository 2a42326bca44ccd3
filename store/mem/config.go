package mem

import "time"

// Config holds a server's settings; the zero value is etcd's defaults.
type Config struct {
	// MinLeaseTTL is the shortest lease in seconds. A shorter requested lease
	// is extended to it. 0 means 2, the minimum of an etcd with the default
	// election timeout.
	MinLeaseTTL int64
	// ExpiryInterval is the time between two checks for expired leases, counted
	// from the start of the server. 0 means 500 ms.
	ExpiryInterval time.Duration
	// ProgressInterval is the time between two progress notifications of an
	// idle watch that requested them. 0 means 10 min.
	ProgressInterval time.Duration
	// MaxTxnOps limits the operations of a transaction. 0 means 128.
	MaxTxnOps int
	// MaxRequestBytes limits a request that writes. 0 means 1.5 MiB.
	MaxRequestBytes int
	// Faults decides the fate of each operation; nil means that all succeed.
	Faults Faults
}

func (c Config) withDefaults() Config {
	if c.MinLeaseTTL == 0 {
		c.MinLeaseTTL = 2
	}
	if c.ExpiryInterval == 0 {
		c.ExpiryInterval = 500 * time.Millisecond
	}
	if c.ProgressInterval == 0 {
		c.ProgressInterval = 10 * time.Minute
	}
	if c.MaxTxnOps == 0 {
		c.MaxTxnOps = 128
	}
	if c.MaxRequestBytes == 0 {
		c.MaxRequestBytes = 3 << 19
	}
	return c
}
