package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/checkup"
	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/peer"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// newDoctorCommand returns the command that examines a cluster.
func newDoctorCommand(c *cli) *cobra.Command {
	var file string
	var endpoints []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what will harm a cluster, and say what to do",
		Long: `Examine etcd: answers, latency, space, alarms, fragmentation, versions. Examine the replicas: their clocks, versions, job
files and certificates. Find unreadable records, jobs that no worker accepts, and workers that no job matches. With --config,
also examine this machine: its disk, its descriptors, its keys, and settings that conflict. Without a certificate or an
authority of your own, the command then asks the replicas with http.tls of these settings.

It changes nothing. If it finds something, the exit code is 1. ` + "`rota status`" + ` says what is wrong with runs.

` + whichStore,
		Example: `  rota doctor
  rota doctor --config /etc/rota/rota.yaml`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.doctor(cmd.Context(), file, endpoints)
		},
	}
	addStoreFlags(cmd, &file, &endpoints, "settings of this machine, with the address of the store (ROTA_CONFIG)")
	return cmd
}

func (c *cli) doctor(ctx context.Context, file string, endpoints []string) error {
	var settings *config.Settings
	if path := c.settingsFile(file); path != "" {
		s, err := config.LoadSettings(path, nil, c.environ)
		if err != nil {
			return err
		}
		settings = &s
	}
	etcd, err := c.findStore(ctx, file, endpoints)
	if err != nil {
		return err
	}
	own, err := c.ownCertificates(etcd)
	if err != nil {
		return err
	}
	f := checkup.Gather(ctx, c.now(), checkup.Source{
		Etcd: etcd, Own: own, Settings: settings,
		Records: func(ctx context.Context, f *doctor.Facts) error { return readRecords(ctx, etcd, f) },
		Ask: func(ctx context.Context, r *job.Replica, url string) doctor.Answer {
			return c.ask(ctx, r.Name, url, settings)
		},
	})
	if failure.IsConfig(f.StoreErr) {
		return f.StoreErr
	}
	return c.showFindings(doctor.Examine(f))
}

// readRecords reads what the store holds into f.
func readRecords(ctx context.Context, etcd config.Etcd, f *doctor.Facts) error {
	s, done, err := openStore(ctx, etcd, "doctor")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return checkup.Records(ctx, s, f)
}

// ownCertificates returns the certificates with which the commands and clients of etcd say who they are.
func (c *cli) ownCertificates(etcd config.Etcd) (list []tls.Certificate, err error) {
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	if credentials != nil {
		list = append(list, credentials.Certificates...)
	}
	if etcd.TLS.Cert != "" {
		pair, err := tls.LoadX509KeyPair(etcd.TLS.Cert, etcd.TLS.Key)
		if err != nil {
			return nil, &codedError{exitBadConfig, "", fmt.Errorf("read etcd.tls: %w", err)}
		}
		list = append(list, pair)
	}
	return list, nil
}

// askTimeout is how long a replica has for its answer.
const askTimeout = 2 * time.Second

// ask asks one replica about the cluster. settings are those of this machine; nil: there are none.
func (c *cli) ask(ctx context.Context, node, at string, settings *config.Settings) doctor.Answer {
	a := doctor.Answer{Node: node, Addr: strings.TrimPrefix(strings.TrimPrefix(at, "https://"), "http://")}
	cl, asProcess, err := c.clientToAsk(at, settings)
	if err != nil {
		a.Err = err
		return a
	}
	defer cl.Close()
	v, err := cl.Cluster(ctx)
	if asProcess && lacksRights(err) { // a process has no role, but every client may ask whether a replica is ready
		a.Refused = err
		a.SetReady(cl.Ready(ctx))
		return a
	}
	if err != nil {
		a.Err, a.Strange = err, strange(err)
		return a
	}
	a.Ready, a.Why, a.Absent = v.Ready, v.NotReady, map[string]string{}
	for _, m := range v.Members {
		if m.State != "present" {
			a.Absent[m.Name] = m.State
		}
	}
	for _, k := range v.Clocks {
		a.Clocks = append(a.Clocks, doctor.Clock{
			Node: k.Node, Offset: seconds(k.OffsetSeconds), Uncertainty: seconds(k.UncertaintySeconds),
		})
	}
	return a
}

// clientToAsk returns a client of one replica. If the operator names neither a certificate nor an authority, the client uses the
// certificates of this machine's process, and asProcess is true.
func (c *cli) clientToAsk(at string, settings *config.Settings) (cl *client.Client, asProcess bool, err error) {
	tokenFile, token, err := c.findToken(at)
	if err != nil {
		return nil, false, err
	}
	credentials, err := c.credentials()
	if err != nil {
		return nil, false, err
	}
	if credentials != nil || settings == nil || settings.HTTP.TLS.Cert == "" {
		cl, err = c.clientOf(at, tokenFile, token, askTimeout)
		return cl, false, err
	}
	_, transport, err := peer.Transport(settings.HTTP.TLS)
	if err != nil {
		return nil, false, &codedError{exitBadConfig, "", err}
	}
	cl, err = c.clientOver(transport, at, tokenFile, token, askTimeout)
	return cl, true, err
}

// strange reports whether a request failed because both sides do not know each other.
func strange(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok || lacksRights(err)
}

// lacksRights reports whether a replica refused a request because of the client's identity.
func lacksRights(err error) bool {
	answer, ok := errors.AsType[*client.Error](err)
	return ok && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (c *cli) showFindings(r doctor.Report) error {
	err := c.print(r, func(p *page) {
		for _, f := range r.Findings {
			subject := f.Subject
			if subject != "" {
				subject += ": "
			}
			fmt.Fprintf(p.out, "%s  %s%s\n", f.Area, printable(subject), printable(f.Text))
			fmt.Fprintf(p.out, "    do: %s\n", printable(f.Do))
		}
		for _, s := range r.Skipped {
			fmt.Fprintf(p.out, "not examined: %s\n", s)
		}
		fmt.Fprintf(p.out, "examined %s: %s\n", strings.Join(r.Examined, ", "), counted(len(r.Findings), "finding"))
	})
	if err == nil && len(r.Findings) > 0 {
		return &codedError{exitFailed, "", fmt.Errorf("%s", counted(len(r.Findings), "finding"))}
	}
	return err
}
