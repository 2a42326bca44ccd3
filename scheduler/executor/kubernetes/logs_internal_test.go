package kubernetes

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/executor"
)

// streams is an API whose log answers with one text after the other.
type streams []string

func (s *streams) Call(context.Context, string, string, any, any) error {
	return errors.New("no calls")
}

func (s *streams) Stream(context.Context, string) (io.ReadCloser, error) {
	text := (*s)[0]
	*s = (*s)[1:]
	return io.NopCloser(strings.NewReader(text)), nil
}

// The log continues with whole seconds, so lines come again. Lines may have one time, and two streams of a program are merged.
func TestEachLineOfALogIsCopiedOnce(t *testing.T) {
	const (
		a = "2026-11-25T10:00:00.100000000Z a\n"
		b = "2026-11-25T10:00:00.100000000Z b\n"
		c = "2026-11-25T10:00:00.100000000Z c\n"
		d = "2026-11-25T10:00:00.200000000Z d\n"
		e = "2026-11-25T10:00:00.150000000Z e\n"
	)
	var out strings.Builder
	f := &follower{api: &streams{a + b, a + b + c + d + e, a + b + c + d + e}, out: &out, req: &executor.Request{}}
	for range 3 {
		if err := f.copy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "a\nb\nc\nd\ne\n" {
		t.Errorf("copied %q", got)
	}
}
