#!/usr/bin/env bash
# A real Kubernetes node on this machine, for tests: API server, controllers, scheduler, kubelet, containerd and CoreDNS.
#
#   node.sh build DIR         builds the programs into DIR/bin, from the Go module proxy (6 minutes on 2 idle cores, once)
#   node.sh up DIR            starts the node; DIR/kubeconfig is the administrator's
#   node.sh load DIR IMAGE…   brings images of the local Docker engine to the node (imagePullPolicy: Never)
#   node.sh down DIR          stops and removes everything that up made
#
# It needs root, Docker's engine (for its containerd, runc and images), and Debian's containernetworking-plugins and kubectl.
# The node works with cgroup v1, which kubelet takes up to 1.34, and without CAP_SYS_RESOURCE. Docker drops forwarded packets, so the
# bridge of the pods is let through. The host reaches pods by their addresses. There is no kube-proxy: use headless Services, or the
# addresses of pods. There is no StorageClass.
set -euo pipefail
KUBE=1.34.4 ETCD=3.7.3 COREDNS=1.14.7
cmd=${1:?build, up, load or down} D=$(mkdir -p "${2:?a directory}" && cd "$2" && pwd); shift 2
export GOFLAGS=-mod=mod GOTOOLCHAIN=local GONOSUMDB='k8s.io/*' KUBECONFIG=$D/kubeconfig

need() { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null; }

build() {
	[ -d /usr/lib/cni ] || need containernetworking-plugins
	command -v kubectl >/dev/null || need kubernetes-client
	[ "$(cat "$D/bin/complete" 2>/dev/null)" != "$KUBE $ETCD $COREDNS" ] || return 0
	mkdir -p "$D/bin" "$D/src/kube" "$D/src/etcd" "$D/src/dns"
	cd "$D/src/kube"
	printf 'module kube\ngo 1.26\nrequire k8s.io/kubernetes v%s\n' $KUBE >go.mod
	mods=$(go mod download -json k8s.io/kubernetes@v$KUBE | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/go.mod
	awk -v v="v0.${KUBE#1.}" '$1 ~ /^k8s.io\// && $2 == "v0.0.0" { print "replace " $1 " => " $1 " " v }' "$mods" | sort -u >>go.mod
	for c in kube-apiserver kube-controller-manager kube-scheduler kubelet; do go build -o "$D/bin/$c" k8s.io/kubernetes/cmd/$c; done
	cd "$D/src/etcd"; printf 'module etcd\ngo 1.26\n' >go.mod; go get go.etcd.io/etcd/server/v3@v$ETCD; go build -o "$D/bin/etcd" go.etcd.io/etcd/server/v3
	cd "$D/src/dns"; printf 'module dns\ngo 1.26\n' >go.mod; go get github.com/coredns/coredns@v$COREDNS; go build -o "$D/bin/coredns" github.com/coredns/coredns
	mkdir -p "$D/src/pause"; cd "$D/src/pause"; printf 'module pause\ngo 1.26\n' >go.mod
	printf 'package main\nimport (\n"os"\n"os/signal"\n"syscall"\n)\nfunc main() {\nc := make(chan os.Signal, 1)\nsignal.Notify(c, syscall.SIGTERM, syscall.SIGINT)\n<-c\n}\n' >main.go
	CGO_ENABLED=0 go build -o pause .
	echo "$KUBE $ETCD $COREDNS" >"$D/bin/complete"
}

start() { # NAME PROGRAM ARG…
	local n=$1; shift
	setsid "$@" >"$D/run/$n.log" 2>&1 </dev/null & echo $! >"$D/run/$n.pid"
}

wait_for() { for _ in $(seq 120); do "$@" >/dev/null 2>&1 && return; sleep 0.5; done; echo "node.sh: gave up waiting for: $*" >&2; exit 1; }

up() {
	[ ! -d "$D/run" ] || { echo "node.sh: $D/run is there already: run down first" >&2; exit 1; }
	mkdir -p "$D/run/cni"; cd "$D/run"
	openssl genrsa -out sa.key 2048 2>/dev/null; openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
	token=$(openssl rand -hex 16); echo "$token,admin,admin,\"system:masters\"" >tokens.csv
	cat >"$KUBECONFIG" <<-Y
	apiVersion: v1
	kind: Config
	clusters: [{name: test, cluster: {server: "https://127.0.0.1:36443", insecure-skip-tls-verify: true}}]
	users: [{name: admin, user: {token: $token}}]
	contexts: [{name: test, context: {cluster: test, user: admin}}]
	current-context: test
	Y
	ip link add cni-test type bridge; ip addr add 10.88.0.1/24 dev cni-test; ip link set cni-test up
	iptables -I FORWARD -i cni-test -j ACCEPT; iptables -I FORWARD -o cni-test -j ACCEPT
	start etcd "$D/bin/etcd" --data-dir "$D/run/etcd" --listen-client-urls http://127.0.0.1:32379 --advertise-client-urls http://127.0.0.1:32379 --listen-peer-urls http://127.0.0.1:32380
	start apiserver "$D/bin/kube-apiserver" --etcd-servers=http://127.0.0.1:32379 --service-account-key-file=sa.pub --service-account-signing-key-file=sa.key \
		--service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.96.0.0/16 --cert-dir="$D/run/certs" --authorization-mode=RBAC \
		--token-auth-file=tokens.csv --secure-port=36443 --bind-address=0.0.0.0 --advertise-address=10.88.0.1 --allow-privileged=true
	wait_for kubectl get --raw /readyz
	start controllers "$D/bin/kube-controller-manager" --kubeconfig="$KUBECONFIG" --service-account-private-key-file=sa.key --root-ca-file=certs/apiserver.crt --leader-elect=false
	start scheduler "$D/bin/kube-scheduler" --kubeconfig="$KUBECONFIG" --leader-elect=false
	cat >cni/10.conflist <<-J
	{"cniVersion":"0.4.0","name":"test","plugins":[{"type":"bridge","bridge":"cni-test","isGateway":true,"hairpinMode":true,"ipam":{"type":"host-local","dataDir":"$D/run/ipam","ranges":[[{"subnet":"10.88.0.0/24","rangeStart":"10.88.0.10"}]],"routes":[{"dst":"0.0.0.0/0"}]}},{"type":"loopback"}]}
	J
	cat >containerd.toml <<-T
	version = 2
	root = "$D/run/containerd-root"
	state = "$D/run/containerd-state"
	[grpc]
	address = "$D/run/containerd.sock"
	[plugins."io.containerd.grpc.v1.cri"]
	sandbox_image = "localhost/pause:1"
	restrict_oom_score_adj = true
	[plugins."io.containerd.grpc.v1.cri".cni]
	bin_dir = "/usr/lib/cni"
	conf_dir = "$D/run/cni"
	T
	start containerd containerd -c containerd.toml
	wait_for ctr -a "$D/run/containerd.sock" version
	printf 'FROM scratch\nCOPY pause /pause\nENTRYPOINT ["/pause"]\n' >"$D/src/pause/Dockerfile"
	docker build -q -t localhost/pause:1 "$D/src/pause" >/dev/null 2>&1
	load localhost/pause:1
	cat >kubelet.yaml <<-Y
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
	authorization: {mode: AlwaysAllow}
	cgroupDriver: cgroupfs
	cgroupsPerQOS: false
	featureGates: {InPlacePodVerticalScaling: false} # without cgroupsPerQOS, kubelet 1.34 panics when it resizes a pod
	enforceNodeAllocatable: []
	containerRuntimeEndpoint: unix://$D/run/containerd.sock
	failSwapOn: false
	clusterDNS: [10.88.0.1]
	clusterDomain: cluster.local
	evictionHard: {imagefs.available: "1%", nodefs.available: "1%"}
	Y
	start kubelet "$D/bin/kubelet" --config=kubelet.yaml --kubeconfig="$KUBECONFIG" --root-dir="$D/run/kubelet" --hostname-override=127.0.0.1 --node-ip=10.88.0.1
	printf '.:53 {\n bind 10.88.0.1\n kubernetes cluster.local {\n  kubeconfig %s test\n }\n errors\n}\n' "$KUBECONFIG" >Corefile
	start coredns "$D/bin/coredns" -conf Corefile
	wait_for sh -c 'kubectl get nodes | grep -q " Ready"'
	wait_for kubectl get serviceaccount default
	kubectl get nodes
}

load() { for i in "$@"; do docker save "$i" | ctr -a "$D/run/containerd.sock" -n k8s.io images import - >/dev/null; done; }

down() {
	[ -d "$D/run" ] || return 0
	kubectl delete pods --all --all-namespaces --force --grace-period=0 >/dev/null 2>&1 || true
	stop() { local p; p=$(cat "$D/run/$1.pid" 2>/dev/null) || return 0; kill -"$2" "$p" 2>/dev/null || true; for _ in $(seq 20); do kill -0 "$p" 2>/dev/null || break; sleep 0.2; done; }
	for n in kubelet scheduler controllers coredns; do stop $n TERM; done
	pods=$(ip netns list | awk "/^cni-/ { print \$1 }")
	ctr -a "$D/run/containerd.sock" -n k8s.io tasks ls -q 2>/dev/null | xargs -r -n1 ctr -a "$D/run/containerd.sock" -n k8s.io tasks kill -s SIGKILL || true
	sleep 1
	ctr -a "$D/run/containerd.sock" -n k8s.io containers ls -q 2>/dev/null | xargs -r -n1 ctr -a "$D/run/containerd.sock" -n k8s.io containers rm >/dev/null 2>&1 || true
	for n in apiserver etcd containerd; do stop $n KILL; done
	ip link del cni-test 2>/dev/null || true; for n in $pods; do ip netns del "$n" 2>/dev/null || true; done
	iptables -D FORWARD -i cni-test -j ACCEPT 2>/dev/null || true; iptables -D FORWARD -o cni-test -j ACCEPT 2>/dev/null || true
	awk -v d="$D/run/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n1 umount -l
	rm -rf "$D/run" "$D/kubeconfig"
}

"$cmd" "$@"
