package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutputStoreNamesABucket(t *testing.T) {
	for text, want := range map[string]Bucket{
		"s3://logs":                             {Name: "logs"},
		"s3://logs.example/a/b/?region=eu-west": {Name: "logs.example", Prefix: "a/b", Region: "eu-west"},
		"s3://logs/a?endpoint=http://minio:9000/": {
			Name: "logs", Prefix: "a", Endpoint: &url.URL{Scheme: "http", Host: "minio:9000", Path: "/"},
		},
	} {
		s, err := load(t, "", []string{"--output-store=" + text})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, ok, err := s.Output.Bucket()
		if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
			t.Errorf("%s: got %t, %v (-want +got):\n%s", text, ok, err, diff)
		}
	}
	for text, want := range map[string]string{
		"logs":                             `"logs" is neither an absolute path nor the URL of a bucket`,
		"http://logs/a":                    "is neither an absolute path",
		"s3://":                            "names no bucket",
		"s3://Logs":                        "names no bucket",
		"s3://logs:9000/a":                 "names no bucket",
		"s3://logs#a":                      "names no bucket",
		"s3://key:hidden@logs":             "has credentials: give them to the process as AWS_ACCESS_KEY_ID",
		"s3://key:hidden %@logs":           "is no URL",
		"s3://logs?region=%zz":             `is no URL: invalid URL escape "%zz"`,
		"s3://logs?regoin=eu":              `has an unknown or repeated parameter "regoin"`,
		"s3://logs?region=a&region=b":      `has an unknown or repeated parameter "region"`,
		"s3://logs?endpoint=minio:9000":    "has an endpoint that is no URL",
		"s3://logs?endpoint=":              "has an endpoint that is no URL",
		"s3://logs?endpoint=http://m/logs": "has an endpoint that is no URL",
	} {
		_, err := load(t, "", []string{"--output-store=" + text})
		switch {
		case err == nil:
			t.Errorf("%s is accepted", text)
		case !strings.HasPrefix(err.Error(), "flag --output-store: output.store "), !strings.Contains(err.Error(), want),
			!strings.Contains(err.Error(), "hint: such as "), strings.Contains(err.Error(), "hidden"):
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
