package holes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// rebound returns a client for which a foreign name leads to an address, as DNS rebinding makes it.
func rebound(addr string) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}}
}

const foreignName = "http://rebind.example:18470"

// serviceID is in the output of id, if the user of the service executed it.
var serviceID = fmt.Sprintf("uid=%d", serviceUser)

// rebindingExecutes: `curl --resolve rebind.example:18470:… -X POST -H 'Origin: http://rebind.example:18470' …/v1/runs`, at an
// address of the machine that is not loopback, behind a forwarder.
func rebindingExecutes(v *server) (success bool, got string) {
	client := rebound(fmt.Sprintf("%s:%d", ownAddress, v.port))
	status, answer := v.askAt(client, foreignName, http.MethodPost, "/v1/runs", `{"shell":"id"}`, "Origin", foreignName)
	return status == http.StatusCreated, fmt.Sprintf("%d %s", status, answer)
}

// rebindingReads: `curl -H 'Host: evil.example:8470' $S/v1/jobs`.
func rebindingReads(v *server) (success bool, got string) {
	var all []string
	for _, path := range []string{"/v1/jobs", "/v1/runs", "/v1/cluster"} {
		status, answer := v.ask(http.MethodGet, path, "", "Host", "evil.example:8470")
		success = success || status == http.StatusOK
		all = append(all, fmt.Sprintf("%s %d %.80s", path, status, answer))
	}
	return success, strings.Join(all, "; ")
}

// neighbourExecutes: as another user, `curl -X POST $S/v1/runs -d '{"shell":"id"}'`, and the same by the Unix socket.
func neighbourExecutes(v *server) (success bool, got string) {
	v.token = ""
	r, output, ok := v.submit("/v1/runs", `{"shell":"id"}`)
	if ok {
		return strings.Contains(output, serviceID), output
	}
	got = r.Reason
	out, err := as(v.t, neighbourUser, v.rota, "submit", "--server=unix://"+v.dir+"/data/api.sock", "--", "id")
	return err == nil, got + "; " + out
}

// neighbourWrites: as another user, `rota etcdctl --endpoints http://127.0.0.1:2379`, with get and put.
func neighbourWrites(v *server) (success bool, got string) {
	var all []string
	plain := strings.Replace(v.etcd, "https:", "http:", 1)
	for _, args := range [][]string{{"get", "--prefix", "/rota/", "--keys-only"}, {"put", "/hole", "filled"}} {
		args = append([]string{v.rota, "etcdctl", "--endpoints", plain, "--command-timeout=2s"}, args...)
		out, err := as(v.t, neighbourUser, args...)
		success = success || err == nil && len(out) > 0
		all = append(all, fmt.Sprintf("%v %.80s", err, out))
	}
	return success, strings.Join(all, "; ")
}

// neighbourEntersDev does the same to `rota dev`, at its ports.
func neighbourEntersDev(v *server) (success bool, got string) {
	v.dir, v.url, v.etcd = newDir(v.t, serviceUser), "http://127.0.0.1:8470", "http://127.0.0.1:23790"
	v.key, v.log, v.ended, v.client = v.dir+"/service.key", v.dir+"/log", make(chan struct{}), stranger
	v.start(setup{rota: v.rota, user: serviceUser}, []string{"dev", "--data-dir", v.dir + "/dev", "--log-level=info"})
	defer v.kill() // its ports are fixed
	success, got = neighbourExecutes(v)
	writes, more := neighbourWrites(v)
	return success || writes, got + "; " + more
}

// etcdShowsInsides: `curl http://127.0.0.1:2379/metrics` and /debug/vars, by both schemes.
func etcdShowsInsides(v *server) (success bool, got string) {
	var all []string
	for _, url := range []string{v.etcd, strings.Replace(v.etcd, "https:", "http:", 1)} {
		for _, path := range []string{"/metrics", "/debug/vars"} {
			status, answer := v.askAt(unverified, url, http.MethodGet, path, "")
			success = success || status == http.StatusOK
			all = append(all, fmt.Sprintf("%s%s %d %.60s", url, path, status, answer))
		}
	}
	return success, strings.Join(all, "; ")
}
