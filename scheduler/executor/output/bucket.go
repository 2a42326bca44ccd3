package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// BucketConfig names a bucket of S3, or of a server with the same protocol.
type BucketConfig struct {
	Name     string
	Prefix   string   // of the keys, without a slash at its end; may be empty
	Region   string   // may be empty: the server is asked for it
	Endpoint *url.URL // of the server, with the scheme http or https; nil: AWS
}

// Bucket is a Store in a bucket of S3. An object appears when it is complete, so an interrupted upload begins again: output is
// bounded.
type Bucket struct {
	cfg    BucketConfig
	client *minio.Client
}

const (
	// writtenKey is the metadata of an object that has the time at which its file was last written, in seconds since 1970.
	writtenKey = "Rota-Written"
	// bucketPart is the number of bytes up to which an object is sent by one request. It exceeds what is kept of one attempt.
	bucketPart = 64 << 20
	// bucketRetries is how often the client sends a request. The Uploader repeats an upload by itself.
	bucketRetries = 2
	// bucketTimeout is how long a reader waits for the server.
	bucketTimeout = 5 * time.Second
	// bucketUpload is the longest time for one upload: enough for the largest output at a megabit per second.
	bucketUpload = 5 * time.Minute
	awsEndpoint  = "https://s3.amazonaws.com"
)

// OpenBucket returns the bucket. It asks no server. The credentials come from the environment (AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY), from the file of the AWS tools, or from the role of the machine, in this order.
func OpenBucket(cfg BucketConfig) (*Bucket, error) {
	if cfg.Endpoint == nil {
		cfg.Endpoint, _ = url.Parse(awsEndpoint)
	}
	keys := []credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: bucketTimeout}},
	}
	client, err := minio.New(cfg.Endpoint.Host, &minio.Options{
		Creds: credentials.NewChainCredentials(keys), Secure: cfg.Endpoint.Scheme == "https", Region: cfg.Region,
		MaxRetries: bucketRetries,
	})
	if err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	return &Bucket{cfg: cfg, client: client}, nil
}

// key returns the key of the file name.
func (b *Bucket) key(name string) string { return filepath.ToSlash(filepath.Join(b.cfg.Prefix, name)) }

// Put implements Store.
func (b *Bucket) Put(ctx context.Context, name string, in *os.File, before fs.FileInfo) error {
	ctx, cancel := context.WithTimeout(ctx, bucketUpload)
	defer cancel()
	size, written := before.Size(), strconv.FormatInt(before.ModTime().Unix(), 10)
	there, err := b.client.StatObject(ctx, b.cfg.Name, b.key(name), minio.StatObjectOptions{})
	if err == nil && there.Size == size && there.UserMetadata[writtenKey] == written {
		return nil
	}
	if code := minio.ToErrorResponse(err).Code; err != nil && code != minio.NoSuchKey {
		return b.explain(err)
	}
	_, err = b.client.PutObject(ctx, b.cfg.Name, b.key(name), io.NewSectionReader(in, 0, size), size, minio.PutObjectOptions{
		ContentType: "text/plain; charset=utf-8", UserMetadata: map[string]string{writtenKey: written}, PartSize: bucketPart,
	})
	if err != nil && changed(in, before) {
		return nil // the file is shorter now
	}
	return b.explain(err)
}

// Open implements Store.
func (b *Bucket) Open(ctx context.Context, run string, attempt int) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	deadline := time.AfterFunc(bucketTimeout, cancel)
	body, _, _, err := minio.Core{Client: b.client}.GetObject(ctx, b.cfg.Name, b.key(fileName(run, attempt)), minio.GetObjectOptions{})
	deadline.Stop()
	if err == nil {
		return &object{body, cancel, deadline}, nil
	}
	cancel()
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return nil, fmt.Errorf("open output of run %s attempt %d: %w", run, attempt, fs.ErrNotExist)
	}
	return nil, b.explain(err)
}

// object reads the answer of a server. Each Read ends within bucketTimeout.
type object struct {
	io.ReadCloser
	cancel   context.CancelFunc
	deadline *time.Timer // runs during a Read, and calls cancel
}

func (o *object) Read(p []byte) (int, error) {
	o.deadline.Reset(bucketTimeout)
	defer o.deadline.Stop()
	return o.ReadCloser.Read(p)
}

func (o *object) Close() error {
	o.cancel()
	return o.ReadCloser.Close()
}

// Sweep implements Store. The age of an object counts from its upload.
func (b *Bucket) Sweep(ctx context.Context, keep time.Duration, now time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	var errs []error
	prefix := b.cfg.Prefix
	if prefix != "" {
		prefix += "/"
	}
	for object := range b.client.ListObjectsIter(ctx, b.cfg.Name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			errs = append(errs, object.Err)
			break
		}
		if strings.HasSuffix(object.Key, suffix) && now.Sub(object.LastModified) > keep {
			errs = append(errs, b.client.RemoveObject(ctx, b.cfg.Name, object.Key, minio.RemoveObjectOptions{}))
		}
	}
	return b.explain(errors.Join(errs...))
}

// explain adds what to do to an error of the server.
func (b *Bucket) explain(err error) error {
	if err == nil {
		return nil
	}
	place, response := "bucket "+b.cfg.Name+" at "+b.cfg.Endpoint.Host, minio.ToErrorResponse(err)
	switch {
	case response.Code == minio.NoSuchBucket:
		return fmt.Errorf("output store: %s does not exist: create it, or correct output.store", place)
	case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("output store: %s refuses the credentials (%s): give this process keys or a role that may get, put, list and "+
			"delete objects there", place, response.Code)
	case response.StatusCode != 0:
		return fmt.Errorf("output store: %s: %w", place, err)
	}
	return fmt.Errorf("output store: %s does not answer: %w", place, err)
}
