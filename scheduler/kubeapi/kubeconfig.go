package kubeapi

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
)

// kubeconfig holds the keys of a kubeconfig file that this package knows.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server     string
			ServerName string `yaml:"tls-server-name"`
			Insecure   bool   `yaml:"insecure-skip-tls-verify"`
			CA         string `yaml:"certificate-authority"`
			CAData     string `yaml:"certificate-authority-data"`
		}
	}
	Users []struct {
		Name string
		User kubeUser
	}
}

type kubeUser struct {
	Token        string
	TokenFile    string         `yaml:"tokenFile"`
	Cert         string         `yaml:"client-certificate"`
	CertData     string         `yaml:"client-certificate-data"`
	Key          string         `yaml:"client-key"`
	KeyData      string         `yaml:"client-key-data"`
	Exec         map[string]any `yaml:"exec"`
	AuthProvider map[string]any `yaml:"auth-provider"`
}

// FromFile returns a client for the current context of the kubeconfig file at path. Users with a token, a token file or a
// certificate are supported.
func FromFile(path string) (*Client, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	c, err := parseFile(text, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return c, nil
}

func parseFile(text []byte, dir string) (*Client, error) {
	var file kubeconfig
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	for _, ctx := range file.Contexts {
		if ctx.Name != file.CurrentContext {
			continue
		}
		for _, cluster := range file.Clusters {
			if cluster.Name != ctx.Context.Cluster {
				continue
			}
			secured := &tls.Config{
				MinVersion: tls.VersionTLS12, ServerName: cluster.Cluster.ServerName, InsecureSkipVerify: cluster.Cluster.Insecure,
			}
			ca, err := content(cluster.Cluster.CAData, cluster.Cluster.CA, dir)
			if err != nil {
				return nil, err
			}
			if ca != nil {
				secured.RootCAs = x509.NewCertPool()
				if !secured.RootCAs.AppendCertsFromPEM(ca) {
					return nil, fmt.Errorf("the authority of cluster %s has no certificate", cluster.Name)
				}
			}
			c := newClient(ctx.Context.Namespace, []string{cluster.Cluster.Server}, secured)
			if c.Namespace == "" {
				c.Namespace = "default"
			}
			return c, file.identify(c, ctx.Context.User, dir, secured)
		}
		return nil, fmt.Errorf("there is no cluster %q", ctx.Context.Cluster)
	}
	return nil, fmt.Errorf("there is no context %q", file.CurrentContext)
}

// identify gives the client the credentials of a user.
func (file *kubeconfig) identify(c *Client, name, dir string, secured *tls.Config) error {
	for _, u := range file.Users {
		if u.Name != name {
			continue
		}
		if u.User.Exec != nil || u.User.AuthProvider != nil {
			return fmt.Errorf("user %s gets credentials from a program: use a token or a certificate", name)
		}
		c.token = u.User.Token
		if u.User.TokenFile != "" {
			c.tokenFile = absolute(u.User.TokenFile, dir)
		}
		cert, err := content(u.User.CertData, u.User.Cert, dir)
		if err != nil || cert == nil {
			return err
		}
		key, err := content(u.User.KeyData, u.User.Key, dir)
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
		secured.Certificates = []tls.Certificate{pair}
		return nil
	}
	if name == "" {
		return nil
	}
	return errors.New("there is no user " + name)
}

// content returns data, which is base64, or the content of the file at path. It returns nil if both are empty.
func content(data, path, dir string) ([]byte, error) {
	if data != "" {
		return base64.StdEncoding.DecodeString(data)
	}
	if path == "" {
		return nil, nil
	}
	return os.ReadFile(absolute(path, dir))
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
