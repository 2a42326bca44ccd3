package embedded

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"
)

// answers is what the other members say, by host, as time passes.
type answers func(host string, since time.Duration) (string, error)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var (
	errRefused = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	errNoRoute = &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	errSilent  = errors.New("no answer") // comes late
)

// Members as etcd lists them: of a cluster that begins, of one that serves, and one that was added.
const (
	q1 = `{"id":1,"peerURLs":["http://q1:2380"],"name":"q1","clientURLs":["http://q1:2379"]}`
	q2 = `{"id":2,"peerURLs":["http://q2:2380"],"name":"q2","clientURLs":["http://q2:2379"]}`

	q3Begins = `{"id":3,"peerURLs":["http://q3:2380"],"name":"q3"}`
	q3Serves = `{"id":3,"peerURLs":["http://q3:2380"],"name":"q3","clientURLs":["http://q3:2379"]}`
	q3Added  = `{"id":4,"peerURLs":["http://q3:2380"]}`
)

func list(members ...string) string { return "[" + strings.Join(members, ",") + "]" }

// always is what everybody says all the time.
func always(text string, err error) answers {
	return func(string, time.Duration) (string, error) { return text, err }
}

// census is q3, which has no data and asks q1 and q2.
func (a answers) census(known bool) census {
	began := time.Now()
	return census{self: "http://q3:2380", others: []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}}, known: known,
		log: hclog.NewNullLogger(),
		rt: roundTripper(func(r *http.Request) (*http.Response, error) {
			text, err := a(r.URL.Hostname(), time.Since(began))
			if errors.Is(err, errSilent) {
				<-r.Context().Done()
				err = r.Context().Err()
			}
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text))}, nil
		})}
}

func TestWhatAMemberWithoutDataIs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known bool // it has been in a cluster
		says  answers
		added bool
		err   error
		after time.Duration // at the latest
	}{
		{name: "nobody is there", says: always("", errRefused)},
		{name: "they begin too", says: always(list(q1, q2, q3Begins), nil)},
		{name: "it was added", says: always(list(q1, q2, q3Added), nil), added: true},
		{name: "it was added, and knew the cluster", known: true, says: always(list(q1, q2, q3Added), nil), added: true},
		{name: "it has served", says: always(list(q1, q2, q3Serves), nil), err: errLost},
		{name: "one was alone before", says: func(host string, _ time.Duration) (string, error) {
			if host == "q1" {
				return list(`{"id":1,"peerURLs":["http://127.0.0.1:0"],"name":"q1","clientURLs":["http://q1:2379"]}`), nil
			}
			return "", errRefused
		}, err: ErrMembers, after: 5 * time.Second},
		{name: "it was removed", says: always(list(q1, q2), nil), err: ErrMembers, after: 5 * time.Second},
		{name: "one learns late that it was added", says: func(host string, since time.Duration) (string, error) {
			if since < 2*time.Second {
				return list(q1, q2), nil
			}
			return list(q1, q2, q3Added), nil
		}, added: true, after: 3 * time.Second},
		{name: "they are about to know", says: func(host string, since time.Duration) (string, error) {
			if since < 2*time.Second {
				return "[]", nil
			}
			return list(q1, q2, q3Begins), nil
		}, after: 3 * time.Second},
		{name: "the network is not up for ten seconds", says: func(host string, since time.Duration) (string, error) {
			if since < 10*time.Second {
				return "", errNoRoute
			}
			return list(q1, q2, q3Added), nil
		}, added: true, after: 11 * time.Second},
		{name: "nothing is heard", says: always("", errSilent), after: 17 * time.Second},
		{name: "nothing is heard of one", says: func(host string, _ time.Duration) (string, error) {
			if host == "q1" {
				return "", errSilent
			}
			return "", errRefused
		}, after: 17 * time.Second},
		{name: "nothing is heard, and it knew the cluster", known: true, says: always("", errSilent), err: errLost, after: 17 * time.Second},
		{name: "nobody is there, and it knew the cluster", known: true, says: always("", errRefused), err: errLost, after: 17 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				added, err := tt.says.census(tt.known).take(t.Context())
				if added != tt.added || !errors.Is(err, tt.err) {
					t.Errorf("got %t, %v; want %t, %v", added, err, tt.added, tt.err)
				}
				if took := time.Since(began); took > tt.after {
					t.Errorf("it took %s, want at most %s", took, tt.after)
				}
			})
		})
	}
	t.Run("it ends with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, cause)
			defer cancel()
			began := time.Now()
			if _, err := always("", errSilent).census(false).take(ctx); !errors.Is(err, cause) || time.Since(began) > 2*time.Second {
				t.Errorf("got %v after %s", err, time.Since(began))
			}
		})
	})
}

func TestADirectoryOfOneMemberIsNoneOfSeveral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		members []string
		served  bool
		refused bool
	}{
		{"of one", []string{"1"}, true, true},
		{"of one that had not begun", []string{"1"}, false, false},
		{"of three", []string{"1", "2", "3"}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			db := openBackend(t, dir)
			err := db.Update(func(tx *bolt.Tx) error {
				members, err := tx.CreateBucket([]byte("members"))
				if err != nil {
					return err
				}
				cluster, err := tx.CreateBucket([]byte("cluster"))
				if err != nil {
					return err
				}
				if tt.served {
					err = cluster.Put([]byte("clusterVersion"), []byte("3.7.0"))
				}
				for _, id := range tt.members {
					err = errors.Join(err, members.Put([]byte(id), []byte("{}")))
				}
				return err
			})
			if err := errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			if got := servedAlone(dir); got != tt.refused {
				t.Errorf("servedAlone: got %t, want %t", got, tt.refused)
			}
		})
	}
	if servedAlone(t.TempDir()) {
		t.Error("servedAlone of an empty directory: got true")
	}
}

// openBackend makes the file in which etcd keeps its members.
func openBackend(t *testing.T, dir string) *bolt.DB {
	t.Helper()
	path := filepath.Join(dir, "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}
