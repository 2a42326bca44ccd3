package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Relay is a gRPC proxy. Unlike a Link it can make some calls hang while others pass.
type Relay struct {
	listener net.Listener
	etcd     *grpc.ClientConn

	mu      sync.Mutex
	watches map[chan struct{}]bool // guarded by mu: one for each healthy watch; closed when the watch dies
	mute    int                    // guarded by mu: how many of the next watches are dead from the start
	key     string                 // guarded by mu: transactions that contain it hang; "": none
	whole   chan struct{}          // guarded by mu: closed when these transactions may pass
}

// NewRelay starts a Relay to the etcd at endpoint, until the test ends.
func NewRelay(t testing.TB, endpoint string) *Relay {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{watches: make(map[chan struct{}]bool)}
	if r.etcd, err = grpc.NewClient(u.Host, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(r.pass), grpc.WaitForHandlers(true))
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(r.listener) })
	t.Cleanup(func() {
		server.Stop()
		wg.Wait()
		r.etcd.Close()
	})
	return r
}

// Endpoint returns the URL of the proxy.
func (r *Relay) Endpoint() string { return "http://" + r.listener.Addr().String() }

// KillWatches silences the present watches without ending them, and returns their number. New watches are healthy.
func (r *Relay) KillWatches() (killed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	killed = len(r.watches)
	for dead := range r.watches {
		close(dead)
	}
	clear(r.watches)
	return killed
}

// MuteNext silences the next n watches from the start.
func (r *Relay) MuteNext(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mute = n
}

// Muted returns how many of the watches of MuteNext have not been started yet.
func (r *Relay) Muted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mute
}

// Hang holds back the transactions that contain key, until heal is called.
func (r *Relay) Hang(key string) (heal func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole := make(chan struct{})
	r.key, r.whole = key, whole
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.key = ""
		close(whole)
	}
}

// await returns when a message may pass.
func (r *Relay) await(ctx context.Context, method string, message []byte) {
	r.mu.Lock()
	key, whole := r.key, r.whole
	r.mu.Unlock()
	if method != "/etcdserverpb.KV/Txn" || key == "" || !bytes.Contains(message, []byte(key)) {
		return
	}
	select {
	case <-whole:
	case <-ctx.Done():
	}
}

// pass is the handler of every call.
func (r *Relay) pass(_ any, near grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(near)
	md, _ := metadata.FromIncomingContext(near.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(near.Context(), md))
	defer cancel()
	dead := make(chan struct{})
	if method == "/etcdserverpb.Watch/Watch" {
		r.mu.Lock()
		if r.mute > 0 {
			r.mute--
			close(dead)
		} else {
			r.watches[dead] = true
		}
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.watches, dead)
		}()
	}
	far, err := r.etcd.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.ForceCodec(raw{}))
	if err != nil {
		return err
	}
	go func() { // ends with the call; TestMain of the test checks that
		for {
			var m []byte
			if near.RecvMsg(&m) != nil {
				_ = far.CloseSend()
				return
			}
			if r.await(ctx, method, m); far.SendMsg(&m) != nil {
				return
			}
		}
	}()
	for {
		var m []byte
		if err := far.RecvMsg(&m); err != nil {
			near.SetTrailer(far.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		select {
		case <-dead:
			continue
		default:
		}
		if err := near.SendMsg(&m); err != nil {
			return err
		}
	}
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string                  { return "proto" }
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(b)
	return nil
}
