package openid

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/test/files"
)

// The provider gets a certificate of another authority while a process runs. It must be reached without a restart. While the file
// of authorities is empty, the last ones count.
func TestTheAuthorityOfTheProviderIsReadAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	if _, err := pki.Init(dir, "another", time.Now()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "ca.crt")
	tr, err := newTransport(file)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: 5 * time.Second}
	ask := func() error {
		res, err := client.Get(server.URL)
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	if ask() == nil {
		t.Error("a provider of an unknown authority is trusted")
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	files.Write(t, file, text)
	if err := ask(); err != nil {
		t.Errorf("with the authority of the provider: %v", err)
	}
	files.Write(t, file, "")
	tr.CloseIdleConnections()
	if err := ask(); err != nil {
		t.Errorf("while the file is empty: %v", err)
	}
	if _, err := newTransport(file); err == nil {
		t.Error("a process starts with an empty file")
	}
}
