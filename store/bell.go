package store

import (
	"context"
	"sync"
)

// bell tells all who wait for it that it has been rung. The zero value is ready.
type bell struct {
	mu   sync.Mutex
	ctx  context.Context    // guarded by mu: ends with the next ring; nil while nobody has waited since the last one
	done context.CancelFunc // guarded by mu: of ctx
}

// next ends when the bell is rung.
func (b *bell) next() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil {
		b.ctx, b.done = context.WithCancel(context.Background())
	}
	return b.ctx
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done != nil {
		b.done()
		b.ctx, b.done = nil, nil
	}
}

// despite asks, and asks again at once where what is under way comes to be doubted before it is answered.
func (b *bell) despite(ctx context.Context, ask func(ctx context.Context) error) error {
	for {
		try, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(b.next(), cancel)
		err := ask(try)
		undoubted := stop()
		cancel()
		if err == nil || undoubted || ctx.Err() != nil {
			return err
		}
	}
}
