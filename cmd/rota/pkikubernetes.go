package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/pki"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// secretsPlan says which Secrets `rota pki kubernetes` keeps.
type secretsPlan struct {
	name        string   // of the release; the Secrets have it as a prefix
	hosts       []string // of the certificates of replicas
	life, renew time.Duration
	token       bool // make a token of an administrator, and auth.yaml
	now         time.Time
}

func newPKIKubernetesCommand(c *cli) *cobra.Command {
	p := secretsPlan{}
	var servers []string
	account := kubeapi.Account
	cmd := &cobra.Command{
		Use:   "kubernetes",
		Short: "Keep the certificates of a cluster in Secrets of Kubernetes",
		Long: `Make the certificates of a cluster and write them as Secrets into the namespace of this pod. It runs as a Job of the chart.
A Secret that exists is kept, unless its certificate expires soon or lacks a host. The names of the Secrets begin with
NAME. NAME-ca and NAME-etcd-ca hold the authorities. NAME-tls and NAME-worker-tls are for the API of replicas and workers.
NAME-etcd is for the members of etcd, and NAME-etcd-client for the workers. NAME-auth holds auth.yaml. NAME-admin holds a
token with the role admin.`,
		Example: "  rota pki kubernetes --name rota --host rota-0.rota-peers.default.svc.cluster.local",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := kubeapi.InCluster(account, c.getenv, servers)
			if err != nil {
				return err
			}
			defer client.Close()
			p.now = c.now()
			return c.keepSecrets(cmd.Context(), client, p)
		},
	}
	cmd.Flags().StringVar(&p.name, "name", "rota", "`prefix` of the Secrets, and name of the cluster")
	cmd.Flags().StringArrayVar(&p.hosts, "host", nil, "`name` by which others reach a replica; may be given several times")
	const instead = "`URL` to call if the Service kubernetes does not answer; may be given several times"
	cmd.Flags().StringArrayVar(&servers, "api-server", nil, instead)
	addSpan(cmd.Flags(), &p.life, "life", certificateLife, "how long a certificate is valid")
	addSpan(cmd.Flags(), &p.renew, "renew-before", certificateLife/3, "renew a certificate that expires within this time")
	cmd.Flags().BoolVar(&p.token, "token", true, "make a token with the role admin, and auth.yaml")
	cmd.Flags().StringVar(&account, "account", kubeapi.Account, "`directory` of the account of this pod")
	_ = cmd.Flags().MarkHidden("account")
	return cmd
}

// keepSecrets makes the Secrets that are missing or expire soon.
func (c *cli) keepSecrets(ctx context.Context, client *kubeapi.Client, p secretsPlan) error {
	for _, a := range []struct {
		authority string // suffix of the Secret of the authority
		certs     map[string]pki.Request
	}{
		{"ca", map[string]pki.Request{
			"tls":        {Name: p.name, Kind: auth.KindReplica, Hosts: p.hosts, Life: p.life},
			"worker-tls": {Name: p.name + "-worker", Kind: auth.KindWorker, Life: p.life},
		}},
		{"etcd-ca", map[string]pki.Request{
			"etcd": {Name: p.name, Kind: auth.KindReplica, Hosts: p.hosts, Life: p.life},
			// etcd compares the names in a client's certificate with its address. Pods of workers have no names.
			"etcd-client": {Name: p.name + "-worker", Kind: auth.KindUser, Life: p.life},
		}},
	} {
		dir, err := os.MkdirTemp("", "rota-pki-")
		if err != nil {
			return fmt.Errorf("make a directory for certificates: %w", err)
		}
		err = c.keepAuthority(ctx, client, p, dir, a.authority, a.certs)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	if !p.token {
		return nil
	}
	return c.keepToken(ctx, client, p)
}

// keepAuthority makes an authority and its certificates in dir, and writes them as Secrets.
func (c *cli) keepAuthority(
	ctx context.Context, client *kubeapi.Client, p secretsPlan, dir, suffix string, certs map[string]pki.Request,
) error {
	files := []string{"ca.crt", "ca.key"}
	secret, err := client.Secret(ctx, p.name+"-"+suffix)
	switch {
	case errors.Is(err, kubeapi.ErrNotFound):
		if _, err := pki.Init(dir, p.name, p.now); err != nil {
			return err
		}
		if err := c.putSecret(ctx, client, secret, p.name+"-"+suffix, dir, files, files); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("read the authority: %w", err)
	default:
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), secret.Data[name], 0o600); err != nil {
				return fmt.Errorf("write the authority: %w", err)
			}
		}
	}
	authority, err := pki.Load(dir)
	if err != nil {
		return err
	}
	for _, suffix := range slices.Sorted(maps.Keys(certs)) {
		name, req := p.name+"-"+suffix, certs[suffix]
		secret, err := client.Secret(ctx, name)
		switch {
		case err == nil && covers(secret.Data["tls.crt"], req.Hosts, p.now.Add(p.renew)):
			c.printErr("secret %s is valid", name)
			continue
		case err != nil && !errors.Is(err, kubeapi.ErrNotFound):
			return fmt.Errorf("read secret %s: %w", name, err)
		}
		if err := authority.Issue(dir, req, p.now); err != nil {
			return err
		}
		read := []string{"ca.crt", req.Name + ".crt", req.Name + ".key"}
		if err := c.putSecret(ctx, client, secret, name, dir, read, []string{"ca.crt", "tls.crt", "tls.key"}); err != nil {
			return err
		}
	}
	return nil
}

// covers reports whether a certificate has all hosts and is valid at an instant.
func covers(text []byte, hosts []string, at time.Time) bool {
	block, _ := pem.Decode(text)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || at.After(cert.NotAfter) {
		return false
	}
	missing := func(h string) bool { return cert.VerifyHostname(h) != nil && !slices.Contains(cert.DNSNames, h) }
	return !slices.ContainsFunc(hosts, missing)
}

// putSecret writes files of dir as the Secret name. was is the Secret that it replaces; the zero value if there is none.
func (c *cli) putSecret(
	ctx context.Context, client *kubeapi.Client, was kubeapi.Secret, name, dir string, files, keys []string,
) error {
	data := map[string][]byte{}
	for i, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("read certificate: %w", err)
		}
		data[keys[i]] = text
	}
	return c.putData(ctx, client, was, name, data)
}

func (c *cli) putData(ctx context.Context, client *kubeapi.Client, was kubeapi.Secret, name string, data map[string][]byte) error {
	s := kubeapi.Secret{Type: "Opaque", Data: data, Metadata: kubeapi.Metadata{
		Name: name, ResourceVersion: was.Metadata.ResourceVersion,
		Labels: map[string]string{"app.kubernetes.io/name": "rota", "app.kubernetes.io/managed-by": "rota-pki"},
	}}
	if err := client.PutSecret(ctx, s); err != nil {
		return fmt.Errorf("write secret %s: %w", name, err)
	}
	c.printErr("secret %s was written", name)
	return nil
}

// keepToken makes auth.yaml with the token of an administrator. It writes the token first: without auth.yaml, a replica waits.
func (c *cli) keepToken(ctx context.Context, client *kubeapi.Client, p secretsPlan) error {
	_, err := client.Secret(ctx, p.name+"-auth")
	if err == nil {
		c.printErr("secret %s is valid", p.name+"-auth")
		return nil
	}
	if !errors.Is(err, kubeapi.ErrNotFound) {
		return fmt.Errorf("read auth.yaml: %w", err)
	}
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	was, err := client.Secret(ctx, p.name+"-admin")
	if err != nil && !errors.Is(err, kubeapi.ErrNotFound) {
		return fmt.Errorf("read the token: %w", err)
	}
	if err := c.putData(ctx, client, was, p.name+"-admin", map[string][]byte{"token": []byte(secret.Text())}); err != nil {
		return err
	}
	text := fmt.Sprintf("tokens:\n  - {id: %s, sha256: %s, principal: admin, role: admin, note: made by rota pki kubernetes}\n",
		secret.ID, secret.Hash())
	return c.putData(ctx, client, kubeapi.Secret{}, p.name+"-auth", map[string][]byte{"auth.yaml": []byte(text)})
}
