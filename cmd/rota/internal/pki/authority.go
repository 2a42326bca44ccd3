package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	// backdated is how long before the present time a certificate becomes valid. It serves machines whose clocks are late.
	backdated = 5 * time.Minute
)

// The files of an authority within its directory.
const (
	authorityCert = "ca.crt"
	authorityKey  = "ca.key"
)

// Authority signs the certificates of one cluster.
type Authority struct {
	Cluster string
	cert    *x509.Certificate
	key     crypto.Signer
}

// clusterName matches what can be the host of the URI in a certificate.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// CheckCluster returns an error if no certificate can hold the name of the cluster.
func CheckCluster(name string) error {
	if len(name) > 63 || !clusterName.MatchString(name) {
		return fmt.Errorf("make authority: cluster %q: a name has 1 to 63 letters, digits, dots, '-' and '_'", name)
	}
	return nil
}

// Init makes an authority and writes it to dir. It returns an error if dir already has one.
func Init(dir, cluster string, now time.Time) (*Authority, error) {
	if err := CheckCluster(cluster); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, authorityKey)); err == nil {
		return nil, fmt.Errorf("make authority: %s has one: choose another directory, or remove it if no process trusts it", dir)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "rota " + cluster, Organization: []string{cluster}},
		NotBefore:             now.Add(-backdated),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign authority: %w", err)
	}
	if err := write(dir, authorityCert, authorityKey, der, key); err != nil {
		return nil, err
	}
	return Load(dir)
}

// Load reads the authority that Init wrote.
func Load(dir string) (*Authority, error) {
	cert, err := readPEM(filepath.Join(dir, authorityCert), "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	secret, err := readPEM(filepath.Join(dir, authorityKey), "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	a := new(Authority)
	if a.cert, err = x509.ParseCertificate(cert); err != nil {
		return nil, fmt.Errorf("read authority of %s: %w", dir, err)
	}
	key, err := x509.ParsePKCS8PrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("read key of authority of %s: %w", dir, err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok || len(a.cert.Subject.Organization) != 1 {
		return nil, fmt.Errorf("read authority of %s: it was not made by rota pki init", dir)
	}
	a.key, a.Cluster = signer, a.cert.Subject.Organization[0]
	return a, nil
}

// Request describes the certificate to issue.
type Request struct {
	Name  string
	Kind  string   // auth.KindReplica, KindWorker or KindUser
	Hosts []string // names and addresses by which others reach it; replicas and workers also get localhost and loopback
	Life  time.Duration
}

// Issue makes a certificate and writes <name>.crt and <name>.key to dir. It replaces an earlier certificate of that name.
func (a *Authority) Issue(dir string, req Request, now time.Time) error {
	id := auth.CertificateID{Cluster: a.Cluster, Kind: req.Kind, Name: req.Name}
	uri, err := url.Parse(id.String())
	if err != nil {
		return fmt.Errorf("issue certificate of %s: %w", req.Name, err)
	}
	if _, err := auth.ParseCertificateID(uri); err != nil {
		return fmt.Errorf("issue certificate of %s: %w", req.Name, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key of %s: %w", req.Name, err)
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: req.Name, Organization: []string{a.Cluster}},
		NotBefore:   now.Add(-backdated),
		NotAfter:    now.Add(req.Life),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{uri},
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		return fmt.Errorf("issue certificate of %s: it would outlive the authority, which expires at %s",
			req.Name, a.cert.NotAfter.Format(time.RFC3339))
	}
	if req.Kind != auth.KindUser {
		addHosts(template, append([]string{req.Name, "localhost", "127.0.0.1", "::1"}, req.Hosts...))
	}
	der, err := sign(template, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("sign certificate of %s: %w", req.Name, err)
	}
	return write(dir, req.Name+".crt", req.Name+".key", der, key)
}

// Names returns the identity, hosts and addresses of a certificate that Issue wrote to dir. It returns nil if there is none.
func Names(dir, name string) []string {
	der, err := readPEM(filepath.Join(dir, name+".crt"), "CERTIFICATE")
	if err != nil {
		return nil
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil
	}
	var names []string
	for _, id := range cert.URIs {
		names = append(names, id.String())
	}
	names = append(names, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func addHosts(template *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
}

// sign gives the certificate a random serial number and signs it.
func sign(template, parent *x509.Certificate, public any, key crypto.Signer) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	return x509.CreateCertificate(rand.Reader, template, parent, public, key)
}

// write writes a certificate and its key. It writes the key first; only the owner can read the key.
func write(dir, certName, keyName string, der []byte, key *ecdsa.PrivateKey) error {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of certificates: %w", err)
	}
	if err := replace(filepath.Join(dir, keyName), "PRIVATE KEY", secret, 0o600); err != nil {
		return err
	}
	return replace(filepath.Join(dir, certName), "CERTIFICATE", der, 0o644)
}

// replace writes a temporary file and renames it. A process that reads the file at any time gets the complete old or new content.
func replace(path, kind string, der []byte, mode os.FileMode) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = errors.Join(pem.Encode(f, &pem.Block{Type: kind, Bytes: der}), f.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readPEM(path, kind string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("read authority: %s holds no PEM block of the type %s", path, kind)
	}
	return block.Bytes, nil
}
