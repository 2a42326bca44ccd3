package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// startListener starts a server that records the token of the last request, and answers 503.
func startListener(t *testing.T) (server string, token func() string) {
	t.Helper()
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string { return got }
}

func TestACommandFindsTheTokenOfItsServer(t *testing.T) {
	server, token := startListener(t)
	other, _ := startListener(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag := write("flag", "of-flag\n", 0o600)
	printed := write("printed", "of-printed\n\n# id k3j2h8w4q9xz, principal ci, role operator\n", 0o600)
	empty := write("empty", "\n", 0o600)
	key := write("key", "-----BEGIN PRIVATE KEY-----\n", 0o600)
	write("systemd/rota-token", "of-systemd", 0o440)
	write("config/rota/credentials.yaml", "servers: {"+server+": {token: of-user}}", 0o600)
	write("foreign/rota/credentials.yaml", "servers: {"+other+": {token: of-user}}", 0o600)
	write("open/rota/credentials.yaml", "servers: {"+server+": {token: of-user}}", 0o644)
	write("state/rota/dev-credentials.yaml", "servers: {"+server+": {token_file: "+write("dev", "of-dev", 0o600)+"}}", 0o600)
	at := func(name, sub string) string { return name + "=" + filepath.Join(dir, sub) }
	for _, tt := range []struct {
		name, want, stderr string
		environ            []string
		args               []string
	}{
		{"nothing", "", "", nil, nil},
		{"the flag is first", "of-flag", "", []string{at("CREDENTIALS_DIRECTORY", "systemd"), at("XDG_CONFIG_HOME", "config")}, []string{"--token-file", flag}},
		{"all that token create prints", "of-printed", "", nil, []string{"--token-file", printed}},
		{"an empty file", "", "there is no token in it", nil, []string{"--token-file", empty}},
		{"another file", "", "its first line is not a token", nil, []string{"--token-file", key}},
		{"then the variable", "of-flag", "", []string{"ROTA_TOKEN_FILE=" + flag, at("CREDENTIALS_DIRECTORY", "systemd")}, nil},
		{"then systemd", "of-systemd", "", []string{at("CREDENTIALS_DIRECTORY", "systemd"), at("XDG_CONFIG_HOME", "config")}, nil},
		{"then the user", "of-user", "", []string{at("XDG_CONFIG_HOME", "config"), at("XDG_STATE_HOME", "state")}, nil},
		{"then rota dev", "of-dev", "", []string{at("XDG_CONFIG_HOME", "foreign"), at("XDG_STATE_HOME", "state")}, nil},
		{"never another server's", "", "", []string{at("XDG_CONFIG_HOME", "foreign")}, nil},
		{"never one that others can read", "", "other users can read", []string{at("XDG_CONFIG_HOME", "open")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, stderr := runHere(append(tt.environ, "HOME="+filepath.Join(dir, "home")), append([]string{"jobs", "--server", server}, tt.args...)...)
			if !strings.Contains(stderr, tt.stderr) {
				t.Errorf("got %q, want %q in it", stderr, tt.stderr)
			}
			if got := token(); tt.stderr == "" && got != tt.want {
				t.Errorf("got the token %q, want %q", got, tt.want)
			}
		})
	}
}

func TestARejectedTokenBesideACertificateNamesBoth(t *testing.T) {
	c := &cli{cert: "alice.crt"}
	var stderr strings.Builder
	c.err = &stderr
	c.report(&client.Error{Status: 401, Token: true, Detail: "q1 rejects the token: it has expired"}, "rota jobs")
	want := "rota: q1 rejects the token: it has expired, or proves another principal than the certificate\nhint: name either a token or a certificate, not both\n"
	if got := stderr.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATokenNeverTravelsInPlainText(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rota", "credentials.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("servers: {http://192.0.2.1:8470: {token: t}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	flag := filepath.Join(dir, "flag")
	if err := os.WriteFile(flag, []byte("t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][]string{{"http://192.0.2.1:8470"}, {"192.0.2.1:8470"}, {"http://192.0.2.1:8470", "--token-file", flag}, {"192.0.2.1:8470", "--token-file", flag}} {
		code, _, stderr := runHere([]string{"XDG_CONFIG_HOME=" + dir}, append([]string{"jobs", "--server"}, tt...)...)
		if code != exitUsage || !strings.Contains(stderr, "everybody on the way to 192.0.2.1:8470 could read the token") {
			t.Errorf("%v: got %d, %q", tt, code, stderr)
		}
	}
}
