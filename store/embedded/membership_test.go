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

// answers returns what the other members answer, by host and time since the start.
type answers func(host string, since time.Duration) (string, error)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var (
	errRefused = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	errNoRoute = &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	errSilent  = errors.New("no answer") // the query waits until its timeout
)

// Members as etcd lists them: of a new cluster, of one that serves, and one that was added.
const (
	q1 = `{"id":1,"peerURLs":["http://q1:2380"],"name":"q1","clientURLs":["http://q1:2379"]}`
	q2 = `{"id":2,"peerURLs":["http://q2:2380"],"name":"q2","clientURLs":["http://q2:2379"]}`

	q3Begins = `{"id":3,"peerURLs":["http://q3:2380"],"name":"q3"}`
	q3Serves = `{"id":3,"peerURLs":["http://q3:2380"],"name":"q3","clientURLs":["http://q3:2379"]}`
	q3Added  = `{"id":4,"peerURLs":["http://q3:2380"]}`
)

func list(members ...string) string { return "[" + strings.Join(members, ",") + "]" }

// always returns the same answer for each member at each time.
func always(text string, err error) answers {
	return func(string, time.Duration) (string, error) { return text, err }
}

// query returns the query of q3, which has no data and asks q1 and q2.
func (a answers) query(known bool) query {
	began := time.Now()
	return query{self: "http://q3:2380", others: []peer{{"q1", "http://q1:2380"}, {"q2", "http://q2:2380"}}, known: known,
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

func TestAMemberWithoutDataIsToldApart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known bool   // the member has been in a cluster
		forms string // the cluster that the settings form, if it is not that of the others
		says  answers
		added bool
		err   error
		after time.Duration // at the latest
	}{
		{name: "no other member runs", says: always("", errRefused)},
		{name: "the others start for the first time too", says: always(list(q1, q2, q3Begins), nil)},
		{name: "the member was added", says: always(list(q1, q2, q3Added), nil), added: true},
		{name: "the member was added, and knew the cluster", known: true, says: always(list(q1, q2, q3Added), nil), added: true},
		{name: "the member has served", says: always(list(q1, q2, q3Serves), nil), err: errLost},
		{name: "another member was a cluster of one", says: func(host string, _ time.Duration) (string, error) {
			if host == "q1" {
				return list(`{"id":1,"peerURLs":["http://127.0.0.1:0"],"name":"q1","clientURLs":["http://q1:2379"]}`), nil
			}
			return "", errRefused
		}, err: ErrMembers, after: 5 * time.Second},
		{name: "the member was removed", says: always(list(q1, q2), nil), err: ErrMembers, after: 5 * time.Second},
		{name: "the others begin with a backup", forms: "another", says: always(list(q1, q2, q3Begins), nil), err: ErrMembers, after: 5 * time.Second},
		{name: "the member was added to a backup", forms: "another", says: always(list(q1, q2, q3Added), nil), added: true},
		{name: "the others learn late that the member was added", says: func(host string, since time.Duration) (string, error) {
			if since < 2*time.Second {
				return list(q1, q2), nil
			}
			return list(q1, q2, q3Added), nil
		}, added: true, after: 3 * time.Second},
		{name: "the others learn their members late", says: func(host string, since time.Duration) (string, error) {
			if since < 2*time.Second {
				return "[]", nil
			}
			return list(q1, q2, q3Begins), nil
		}, after: 3 * time.Second},
		{name: "the network needs ten seconds to start", says: func(host string, since time.Duration) (string, error) {
			if since < 10*time.Second {
				return "", errNoRoute
			}
			return list(q1, q2, q3Added), nil
		}, added: true, after: 11 * time.Second},
		{name: "the network needs ten seconds to start, and the member knew the cluster", known: true, says: func(host string, since time.Duration) (string, error) {
			if since < 10*time.Second {
				return "", errNoRoute
			}
			return list(q1, q2, q3Added), nil
		}, added: true, after: 11 * time.Second},
		{name: "no member answers", says: always("", errSilent), after: 17 * time.Second},
		{name: "one member does not answer", says: func(host string, _ time.Duration) (string, error) {
			if host == "q1" {
				return "", errSilent
			}
			return "", errRefused
		}, after: 17 * time.Second},
		{name: "no member answers, and the member knew the cluster", known: true, says: always("", errSilent), err: errLost, after: 17 * time.Second},
		{name: "no other member runs, and the member knew the cluster", known: true, says: always("", errRefused), err: errLost, after: 17 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				q := tt.says.query(tt.known)
				q.cluster = tt.forms
				added, err := q.resolve(t.Context())
				if added != tt.added || !errors.Is(err, tt.err) {
					t.Errorf("got %t, %v; want %t, %v", added, err, tt.added, tt.err)
				}
				if tt.forms != "" && tt.err != nil {
					wantError(t, err, "restored from a backup", "q2 (http://q2:2380)")
				}
				if took := time.Since(began); took > tt.after {
					t.Errorf("took %s, want at most %s", took, tt.after)
				}
			})
		})
	}
	t.Run("the query ends with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			cause := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, cause)
			defer cancel()
			began := time.Now()
			if _, err := always("", errSilent).query(false).resolve(ctx); !errors.Is(err, cause) || time.Since(began) > 2*time.Second {
				t.Errorf("got %v after %s", err, time.Since(began))
			}
		})
	})
}

func TestADirectoryOfAClusterOfOneIsRecognized(t *testing.T) {
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

// openBackend creates the file in which etcd stores its members.
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
