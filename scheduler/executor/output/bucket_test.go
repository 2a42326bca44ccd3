package output

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// server is an S3 server with the bucket logs. It accepts one access key. While it is broken, uploads end in their middle.
type server struct {
	url    *url.URL
	broken atomic.Bool
	puts   atomic.Int64
}

func newServer(t *testing.T) *server {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "worker")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	objects := s3mem.New()
	if err := objects.CreateBucket("logs"); err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s3 := gofakes3.New(objects).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.broken.Load() && r.Method == http.MethodPut {
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			panic(http.ErrAbortHandler)
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=worker/") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPut {
			s.puts.Add(1)
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s.url, _ = url.Parse(srv.URL)
	return s
}

func (s *server) open(t *testing.T, name string) *Bucket {
	t.Helper()
	b, err := OpenBucket(BucketConfig{Name: name, Prefix: "rota/outputs", Region: "us-east-1", Endpoint: s.url})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *server) bucket(t *testing.T) *Bucket { return s.open(t, "logs") }

// A long output is complete, and is not uploaded again by the next process.
func TestABucketHasItOnce(t *testing.T) {
	s := newServer(t)
	from, text := t.TempDir(), strings.Repeat("0123456789", 1<<20)
	put(t, from, "a/x", text)
	for range 2 {
		_, report, stop := uploads(t, from, s.bucket(t))
		await(t, "it is uploaded", func() bool { n, err := report(); return n == 0 && err == nil })
		stop()
	}
	if got := stored(t, s.bucket(t), "a/x"); got != text {
		t.Errorf("got %d bytes, want %d", len(got), len(text))
	}
	if n := s.puts.Load(); n != 1 {
		t.Errorf("%d uploads, want 1", n)
	}
}

// An upload that breaks in its middle leaves nothing in the bucket, and is repeated.
func TestAnInterruptedUploadToABucket(t *testing.T) {
	s := newServer(t)
	s.broken.Store(true)
	from, text := t.TempDir(), strings.Repeat("0123456789", 1<<18)
	put(t, from, "a/x", text)
	_, report, _ := uploads(t, from, s.bucket(t))
	await(t, "the trouble is reported", func() bool {
		n, err := report()
		return n == 1 && err != nil && strings.Contains(err.Error(), "does not answer")
	})
	if got := stored(t, s.bucket(t), "a/x"); got != "" {
		t.Errorf("a part of %d bytes is in the bucket", len(got))
	}
	s.broken.Store(false)
	await(t, "it is uploaded", func() bool {
		n, err := report()
		return n == 0 && err == nil && stored(t, s.bucket(t), "a/x") == text
	})
}

func TestABucketThatCannotBeUsed(t *testing.T) {
	s := newServer(t)
	from := t.TempDir()
	put(t, from, "a/x", "text")
	wants := func(name, want string) {
		t.Helper()
		_, report, stop := uploads(t, from, s.open(t, name))
		await(t, want, func() bool { n, err := report(); return n == 1 && err != nil && strings.Contains(err.Error(), want) })
		stop()
	}
	wants("other", "bucket other at "+s.url.Host+" does not exist: create it")
	t.Setenv("AWS_ACCESS_KEY_ID", "stranger")
	wants("logs", "refuses the credentials")
}

// Old objects below the prefix are removed. Others stay.
func TestABucketIsSwept(t *testing.T) {
	b := newServer(t).bucket(t)
	from := t.TempDir()
	put(t, from, "a/x", "text")
	_, report, stop := uploads(t, from, b)
	await(t, "it is uploaded", func() bool { n, err := report(); return n == 0 && err == nil })
	stop()
	other := &Bucket{cfg: b.cfg, client: b.client}
	other.cfg.Prefix = "rota/outputs-of-others"
	for _, tt := range []struct {
		from  *Bucket
		later time.Duration
		stays bool
	}{{b, 59 * time.Minute, true}, {other, 2 * time.Hour, true}, {b, 2 * time.Hour, false}} {
		if err := tt.from.Sweep(t.Context(), time.Hour, time.Now().Add(tt.later)); err != nil {
			t.Fatal(err)
		}
		if stays := stored(t, b, "a/x") == "text"; stays != tt.stays {
			t.Errorf("%s after %v: it stays: %t, want %t", tt.from.cfg.Prefix, tt.later, stays, tt.stays)
		}
	}
}
