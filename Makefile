# Every target needs only Go, unless its line names more. `make help` lists the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO          ?= go
IMAGE       ?= rota:dev
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VALE        := github.com/vale-cli/vale/v3/cmd/vale@v3.22.0
VULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0

# Go writes the commit into the binary. Without access to git it must not try.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(shell git status --porcelain >/dev/null 2>&1 && echo auto || echo false)

# The race detector and Vale need a C compiler with its headers.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo 'int main(void) { return 0; }' | \
	$$($(GO) env CC) -include stdlib.h -x c -o /dev/null - 2>/dev/null && echo -race)

# A program with the race detector would sleep for a second before it ends, and the tests end hundreds of them.
export GORACE ?= atexit_sleep_ms=10

# The tests with Docker and with systemd have their own targets. They must not share the machine with other tests.
UNITS    = $(shell $(GO) list ./... | grep -v '/rota/test/')
SYSTEMS  = $(shell $(GO) list ./test/... | grep -Ev '/test/(deploy|systemd)$$')
PACKAGES = $(UNITS) $(SYSTEMS)

# gotest PACKAGES,FLAGS runs tests. A comma in its texts would end an argument of $(if). With RERUN=n, it runs a failed test again, up to n times, and lists such tests in
# bin/rerun-<target>.txt. These tests break real processes, and a busy machine may stop one for longer than any lease lasts.
# A finding of the judge of histories counts even if the next run passes: it stands in bin/found-<target>.txt and fails the target.
gotest = $(if $(RERUN),rm -f bin/found-$@.txt; export ROTA_TEST_FOUND=$(CURDIR)/bin/found-$@.txt; \
	$(GO) run $(GOTESTSUM) --format=pkgname --hide-summary=skipped --rerun-fails=$(RERUN) \
	--rerun-fails-max-failures=3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
	--rerun-fails-report=bin/rerun-$@.txt --packages="$(1)" -- $(2); \
	[ ! -s bin/found-$@.txt ] || { echo "the judge found violations; a second run does not excuse them:" >&2; cat bin/found-$@.txt; exit 1; }, \
	$(GO) test $(2) $(1))

.PHONY: help
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## run a cluster on this machine, with embedded etcd and the example jobs
	bin/rota dev --jobs deploy/examples/jobs --data-dir .rota

.PHONY: build
build: ## build bin/rota
	$(BUILD) -o bin/rota ./cmd/rota

.PHONY: test
test: unit-test system-test ## run the tests of all packages, with the race detector if there is a C compiler

.PHONY: unit-test
unit-test: built-for-tests ## run the tests of the packages that rota consists of
	@race="$(RACE)"; echo "go test $$race, packages of rota"; $(call gotest,$(UNITS),$$race -pgo=off -p 2 -timeout 20m)

.PHONY: system-test
# One package at a time: these tests run real clusters, and a busy machine delays the leases.
system-test: built-for-tests ## run the tests of whole clusters, in test/
	@race="$(RACE)"; echo "go test $$race, packages in test/"; export ROTA_TEST_BINARY=$(CURDIR)/bin/rota-under-test; \
	$(call gotest,$(SYSTEMS),$$race -pgo=off -p 1 -timeout 20m)

.PHONY: built-for-tests
built-for-tests:
	@race="$(RACE)"; \
	[ -n "$$race" ] || echo "make test: NO C COMPILER, so the race detector is OFF: install gcc and libc6-dev" >&2; \
	mkdir -p bin; \
	$(GO) build -pgo=off $$race ./...
	$(BUILD) -o bin/rota-under-test ./cmd/rota

.PHONY: check
check: lint words vulns ## check format, lints, words, shape of the tree, go.mod (tools come from the Go module proxy)
	$(GO) test -count=1 ./test/arch
	$(GO) mod tidy -diff

.PHONY: lint
lint: ## check the code: gofmt, and golangci-lint (.golangci.yml), which contains go vet
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); \
	[ -z "$$unformatted" ] || { printf 'not formatted by gofmt:\n%s\n' "$$unformatted" >&2; exit 1; }
	$(GO) run $(GOLANGCI) run ./...

.PHONY: words
words: ## check the words of docs and comments with Vale (.vale.ini; needs a C compiler)
	@if [ -z "$(RACE)" ] && [ "$${ROTA_CI:-}" != 1 ]; then \
		echo "make words: NO C COMPILER, so Vale does not run: install gcc and libc6-dev" >&2; \
	else \
		echo "$(GO) run $(VALE) ."; \
		$(GO) run $(VALE) --output=line --glob='!{**/testdata/**,bin/**,.rota/**}' .; \
	fi

# The tests of other packages that stand in test/tables/scenarios.md. make test runs them, too. test/arch compares both.
ROW_PACKAGES = ./cmd/rota/node ./scheduler/planner ./scheduler/worker ./scheduler/executor/... ./test/sim
ROW_TESTS    = TestADeadWatchIsNotReady|TestALeaderThatDoesNotDispatch|TestTheNextLeaderSendsTheRest|TestASuccessorCreates|TestAnAttemptThatIgnoresItsTimeout|TestWorkersFollowTheLoad|TestADiskThatDoesNotAnswer|TestScripts|Limit|Hog|ForkBomb|Heartbeat

.PHONY: docs
docs: ## write the generated parts of the documentation: job keys, settings, metrics, commands, API
	$(GO) test -count=1 -run Reference ./docs ./cmd/rota ./scheduler/api -update

.PHONY: pictures
pictures: ## make the pictures of docs and the table of the cost of views anew (needs chromium)
	@mkdir -p docs/pictures
	$(GO) test -count=1 -run 'TestPictures|TestPage/every_view' ./test/page -update

.PHONY: fault
# With FAULTS=rest it skips the tests that make test runs, and the race detector: make test has run the harness with it.
fault: ## break processes, links, clocks, disks and containers; FAULTS=rest skips what make test runs
	@mkdir -p bin
	$(BUILD) -o bin/rota-under-test ./cmd/rota
	export ROTA_FAULTS=$(or $(FAULTS),all) ROTA_TEST_BINARY=$(CURDIR)/bin/rota-under-test; \
	$(call gotest,./test/cluster ./test/network/... ./test/guards ./test/kubernetes ./test/runbooks,$(if $(filter rest,$(FAULTS)),,$(RACE)) -count=1 -p 2 -timeout 30m)
ifneq ($(FAULTS),rest)
	$(GO) test -count=1 -p 1 -run '$(ROW_TESTS)' $(ROW_PACKAGES)
endif
	$(MAKE) docker-test

.PHONY: manifests
manifests: ## render deploy/kubernetes from the Helm chart
	ROTA_FAULTS=1 ROTA_UPDATE=1 $(GO) test -count=1 -run TestTheManifests ./test/kubernetes

# A directory for the programs and the state of the Kubernetes node of the tests.
KUBERNETES_NODE ?= $(HOME)/.cache/rota-test/kubernetes

.PHONY: kubernetes-test
kubernetes-test: docker ## run rota, and jobs as pods, on a real Kubernetes node (needs root, Docker; builds the node once, 6 minutes)
	test/kubernetes/node.sh build $(KUBERNETES_NODE)
	$(BUILD) -o bin/rota-under-test ./cmd/rota
	ROTA_FAULTS=1 ROTA_TEST_KUBERNETES=$(KUBERNETES_NODE) ROTA_TEST_BINARY=$(CURDIR)/bin/rota-under-test \
		$(GO) test -count=1 -v -timeout 45m -run 'TestJobsAsPods|TestTheManifestsRun|TestTheStoryOfARelease' ./test/kubernetes

.PHONY: soak
soak: ## break a cluster under load at random: FOR=10m (at least 1m), SEED=n repeats one
	$(GO) test -count=1 -v -timeout 0 ./test/soak -for=$(or $(FOR),10m) -seed=$(or $(SEED),0)

.PHONY: jepsen
jepsen: ## run Jepsen's test of Chronos on five hosts for 15 minutes; SEED=n repeats one (needs root, ip, iptables)
	ROTA_FAULTS=1 ROTA_JEPSEN_SECONDS=450 ROTA_TEST_SEED=$(SEED) $(GO) test -count=1 -v -timeout 40m -run '^TestJepsen$$' ./test/network

.PHONY: sim
sim: ## break whole clusters in simulated time: SEEDS=2000 clusters, FROM=0 the first seed
	$(GO) test -count=1 -v -timeout 1h ./test/sim -run '^TestSim$$' -sim.seeds=$(or $(SEEDS),2000) -sim.from=$(or $(FROM),0) | \
		grep --line-buffered -Ev '^(=== |    +--- PASS)'

.PHONY: bench
bench: ## measure rota and etcd alone, about 10 minutes; docs/explanation/performance.md explains the figures
	@mkdir -p bin
	$(GO) build -pgo=cmd/rota/default.pgo -o bin/bench ./test/bench
	bin/bench throughput -rate $(or $(RATE),20000)
	bin/bench throughput -rate $(or $(RATE3),5000) -members 3
	bin/bench core
	bin/bench floor
	bin/bench floor -members 3
	bin/bench herd -runs 10000
	bin/bench herd -runs 100000
	bin/bench herd -runs 100000 -capacity 100000 -ahead 30s
	bin/bench workflow -workflows 2000
	bin/bench scale -jobs 1000
	bin/bench scale -jobs 1000000
	bin/bench idle
	bin/bench pages -members 3
	bin/bench delayed

.PHONY: peers
# River and asynq are in a Go module of their own, so that the module of rota does not need them.
peers: ## measure rota beside River on PostgreSQL and asynq on Redis, 5 minutes; installs both servers (needs root or the servers, Debian)
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || apt-get install -y --no-install-recommends postgresql
	@command -v redis-server >/dev/null || apt-get install -y --no-install-recommends redis-server
	@mkdir -p bin
	$(GO) build -pgo=cmd/rota/default.pgo -o bin/bench ./test/bench
	cd test/bench/peers && $(GO) build -o $(CURDIR)/bin/peers .
	bin/peers -rounds $(or $(ROUNDS),3)

.PHONY: profile
# The compiler reads the profile whenever it builds cmd/rota. A build without it is slower, but as right.
profile: ## measure cmd/rota/default.pgo anew, about 3 minutes; nothing else may run meanwhile
	@mkdir -p bin
	$(GO) build -pgo=off -o bin/bench ./test/bench
	bin/bench throughput -rate 5000 -for 60s -cpuprofile bin/profile-1.pprof
	bin/bench throughput -rate 2500 -for 30s -members 3 -cpuprofile bin/profile-3.pprof
	$(GO) tool pprof -proto bin/profile-1.pprof bin/profile-3.pprof >cmd/rota/default.pgo

.PHONY: fuzz
# BLIND=1 uses the ordinary build. It saves the minutes that a build of all dependencies with coverage takes.
# Go 1.26 may fail a target with its own deadline when the time is over, without a failing input: go.dev/issue/75804.
fuzz: ## search for input that breaks a parser: FOR=1m each; BLIND=1 searches without coverage, as .ci/run does
	@mkdir -p bin; for target in $$(grep -rho --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sed 's/^func //' | sort -u); do \
		package=$$(dirname $$(grep -rl --include='*_test.go' "^func $$target(" .)); \
		echo "fuzz: $$target in $$package"; \
		{ $(if $(BLIND),$(GO) test $$package -run '^$$' -timeout 0 -args -test.fuzz="^$$target\$$" -test.fuzztime=$(or $(FOR),1m) \
			-test.fuzzminimizetime=5s -test.fuzzcachedir=$(CURDIR)/bin/fuzz/$$target, \
			$(GO) test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(or $(FOR),1m) -fuzzminimizetime 5s); } 2>&1 \
			| tee bin/fuzz.txt || { grep -A1 '^--- FAIL: ' bin/fuzz.txt | tail -n +2 | grep -qx ' *context deadline exceeded'; } || exit 1; \
	done

.PHONY: cross
cross: ## compile for arm64 and for darwin
	@for target in linux/arm64 darwin/arm64; do \
		echo "go build for $$target"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(BUILD) -o /dev/null ./cmd/rota || exit 1; \
	done

.PHONY: vulns
vulns: ## look up known vulnerabilities of the code that rota calls (needs vuln.go.dev)
	@if curl --silent --head --max-time 5 --output /dev/null https://vuln.go.dev/index/db.json; then \
		$(GO) run $(VULNCHECK) ./...; \
	else \
		echo "make vulns: NOT CHECKED: vuln.go.dev is not reached" >&2; \
	fi

.PHONY: microbench
microbench: ## run the benchmarks of single packages
	$(GO) test -run '^$$' -bench . -benchmem ./scheduler/... ./store/... ./config/...

.PHONY: cover
cover: ## write coverage to bin/coverage.html
	@mkdir -p bin
	$(GO) test -timeout 20m -coverpkg=./... -coverprofile=bin/coverage.out $(PACKAGES)
	$(GO) tool cover -func=bin/coverage.out | tail -n 1
	$(GO) tool cover -html=bin/coverage.out -o bin/coverage.html

.PHONY: image
image: ## build bin/image, the content of the container image
	rm -rf bin/image
	mkdir -p bin/image/etc/ssl/certs bin/image/owned/var/lib/rota
	mkdir -m 1777 bin/image/owned/tmp
	GOOS=linux $(BUILD) -ldflags='-s -w' -o bin/image/rota ./cmd/rota
	@if [ -r /etc/ssl/certs/ca-certificates.crt ]; then \
		cp /etc/ssl/certs/ca-certificates.crt bin/image/etc/ssl/certs/; \
	else \
		echo "make image: no /etc/ssl/certs/ca-certificates.crt here: https jobs need SSL_CERT_FILE" >&2; \
	fi

.PHONY: docker
docker: image ## build the container image rota:dev (needs Docker; pulls nothing)
	docker build --tag $(IMAGE) --file deploy/Dockerfile .

.PHONY: docker-test
docker-test: ## break a cluster of three containers, and jobs in containers (needs Docker; without it, skips unless ROTA_CI=1)
	$(GO) test -count=1 -v -timeout 15m ./test/deploy
	ROTA_CONTAINERS=1 $(GO) test -count=1 -v -timeout 15m ./test/containers

.PHONY: release
release: ## build and check bin/release/dist: archives, deb, rpm, images, SBOM, checksums; VERSION=1.2.3, else the nearest tag (tools come from the Go module proxy)
	VERSION=$(VERSION) TARGETS="$(TARGETS)" deploy/packages/release.sh
	ROTA_RELEASE=$(CURDIR)/bin/release/dist $(GO) test -count=1 -v -run TestTheArtifacts ./test/release

.PHONY: systemd-test
systemd-test: ## install the deb under a real systemd (needs root, debootstrap, Debian's archive; without them, skips unless ROTA_CI=1)
	$(GO) test -count=1 -v -timeout 30m ./test/systemd

FILE   ?= deploy/compose.yaml
COMPOSE = $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose) -f $(FILE)

# The Compose files with TLS need certificates and directories, which belong to the user of the containers.
export ROTA_DIR  ?= $(CURDIR)/.compose
export ROTA_USER ?= $(shell id -u):$(shell id -g)

.PHONY: compose-up
compose-up: image $(if $(filter-out deploy/compose.yaml,$(FILE)),compose-prepare) ## start a cluster in containers at 127.0.0.1:8470 and above; FILE=deploy/compose-tls.yaml or deploy/compose-etcd.yaml (needs Docker and Compose)
	$(COMPOSE) up --build --detach

.PHONY: compose-prepare
compose-prepare: build ## make the certificates and directories of the Compose files with TLS in .compose
	deploy/compose-prepare.sh bin/rota $(ROTA_DIR)

.PHONY: compose-down
compose-down: ## stop the containers of FILE; their data stays (needs Docker and Compose)
	$(COMPOSE) down

.PHONY: clean
clean: ## remove built files, and the data of `make run` and of the Compose files with TLS
	rm -rf bin .rota .compose
