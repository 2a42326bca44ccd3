package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// Bucket is a bucket of S3 that output.store names.
type Bucket struct {
	Name     string
	Prefix   string   // of the keys, without slashes at its ends; may be empty
	Region   string   // may be empty: the server is asked for it
	Endpoint *url.URL // of the server, with the scheme http or https; nil: AWS
}

// bucketName has the names that S3 allows.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Bucket returns the bucket in which output is kept. ok is false if Store is no URL of one.
func (o Output) Bucket() (b Bucket, ok bool, err error) {
	if !strings.HasPrefix(o.Store, "s3://") {
		return b, false, nil
	}
	b, err = parseBucket(o.Store)
	return b, true, err
}

func parseBucket(text string) (b Bucket, err error) {
	u, err := url.Parse(text)
	if bad, ok := errors.AsType[*url.Error](err); ok {
		return b, fmt.Errorf("is no URL: %w", bad.Err) // without the URL, which may have a password
	}
	query, err := url.ParseQuery(u.RawQuery)
	switch {
	case err != nil:
		return b, fmt.Errorf("is no URL: %w", err)
	case u.User != nil:
		return b, errors.New("has credentials: give them to the process as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case !bucketName.MatchString(u.Host) || u.Fragment != "":
		return b, errors.New("names no bucket")
	}
	for key, values := range query {
		if key != "region" && key != "endpoint" || len(values) > 1 {
			return b, fmt.Errorf("has an unknown or repeated parameter %s", quote(key))
		}
	}
	b = Bucket{Name: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: query.Get("region")}
	if query.Has("endpoint") {
		b.Endpoint, err = url.Parse(query.Get("endpoint"))
		if err != nil || b.Endpoint.Scheme != "http" && b.Endpoint.Scheme != "https" || b.Endpoint.Hostname() == "" ||
			b.Endpoint.User != nil || strings.Trim(b.Endpoint.Path, "/") != "" {
			return b, errors.New("has an endpoint that is no URL such as https://minio.internal:9000")
		}
	}
	return b, nil
}

// checkOutputStore reports a store that is neither a directory nor a bucket.
func (s *Settings) checkOutputStore(fail func(key, hint, format string, args ...any)) {
	_, bucket, err := s.Output.Bucket()
	switch store := s.Output.Store; {
	case err != nil:
		fail("output.store", "such as s3://bucket/prefix?region=eu-central-1", "%v", err)
	case store != "" && !bucket && !filepath.IsAbs(store):
		fail("output.store", "such as /srv/rota-output or s3://bucket/prefix", "%s is neither an absolute path nor the URL of a bucket",
			quote(store))
	}
}
