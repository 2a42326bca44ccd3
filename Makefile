# Everything needs Go and nothing else, unless its line says so.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO          ?= go
IMAGE       ?= rota:dev
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0

# Go writes the commit into the binary, and fails where git refuses to tell it.
BUILD := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=$(shell git status --porcelain >/dev/null 2>&1 && echo auto || echo false)

# The race detector needs a C compiler with its headers.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && echo 'int main(void) { return 0; }' | \
	$$($(GO) env CC) -include stdlib.h -x c -o /dev/null - 2>/dev/null && echo -race)

# The test that needs Docker has a target of its own, so that it does not share the machine with others.
PACKAGES = $(shell $(GO) list ./... | grep -v '/test/deploy$$')

# gotest PACKAGES,FLAGS runs tests. With RERUN=n, a test that fails is run again up to n times and what failed is told in
# bin/rerun-<target>.txt: these tests break real processes, and a shared machine may hold one up for longer than any lease.
# What the judge of a history finds is not made good by another run: it is in bin/found-<target>.txt, and fails the target.
gotest = $(if $(RERUN),rm -f bin/found-$@.txt; export ROTA_TEST_FOUND=$(CURDIR)/bin/found-$@.txt; \
	$(GO) run $(GOTESTSUM) --format=pkgname --hide-summary=skipped --rerun-fails=$(RERUN) \
	--rerun-fails-max-failures=3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race \
	--rerun-fails-report=bin/rerun-$@.txt --packages="$(1)" -- $(2); \
	[ ! -s bin/found-$@.txt ] || { echo "what the judge found is not made good by another run:" >&2; cat bin/found-$@.txt; exit 1; }, \
	$(GO) test $(2) $(1))

.PHONY: help
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## run everything on this machine, with embedded etcd and the example jobs
	bin/rota dev --jobs deploy/examples/jobs --data-dir .rota

.PHONY: build
build: ## build bin/rota
	$(BUILD) -o bin/rota ./cmd/rota

.PHONY: test
# One package at a time: many tests run a real etcd, whose leases should not depend on what else is being tested.
test: ## run the tests of all packages, with the race detector if there is a C compiler; make fault breaks real clusters
	@race="$(RACE)"; \
	[ -n "$$race" ] || echo "make test: NO C COMPILER, so the race detector is OFF: install gcc and libc6-dev" >&2; \
	echo "go test $$race ./..., but for what make fault adds"; \
	$(GO) build $$race ./...; \
	mkdir -p bin; \
	$(call gotest,$(PACKAGES),$$race -p 1 -timeout 20m)

.PHONY: check
check: ## check format, vet, staticcheck, import directions, go.mod (staticcheck comes from the Go module proxy)
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); \
	[ -z "$$unformatted" ] || { printf 'not formatted by gofmt:\n%s\n' "$$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 ./test/arch
	$(GO) mod tidy -diff

# What other packages prove of the rows of test/tables/scenarios.md; make test runs it, too. A test compares this with the table.
ROW_PACKAGES = ./cmd/rota/node ./scheduler/planner ./scheduler/worker ./scheduler/executor/... ./test/sim
ROW_TESTS    = TestADeadWatchIsNotReady|TestALeaderThatDoesNotDispatch|TestTheNextLeaderTellsTheRest|TestAnAttemptThatIgnoresItsTimeout|TestWorkersFollowTheLoad|TestADiskThatDoesNotAnswer|TestScripts|Limit|Hog|ForkBomb|Heartbeat

.PHONY: docs
docs: ## write the generated parts of the documentation: job keys, settings, metrics, commands, API
	$(GO) test -count=1 -run Reference ./docs ./cmd/rota ./scheduler/api -update

.PHONY: fault
# With FAULTS=rest, make test has run the harness under the race detector already; what the harness starts is built without it anyway.
fault: ## run the tests that break things: processes, links, clocks, disks, containers; FAULTS=rest: what make test leaves out
	@mkdir -p bin
	$(GO) build -buildvcs=false -o bin/rota-under-test ./cmd/rota
	export ROTA_FAULTS=$(or $(FAULTS),all) ROTA_TEST_BINARY=$(CURDIR)/bin/rota-under-test; \
	$(call gotest,./test/cluster ./test/network/... ./test/guards,$(if $(filter rest,$(FAULTS)),,$(RACE)) -count=1 -p 2 -timeout 30m)
ifneq ($(FAULTS),rest)
	$(GO) test -count=1 -p 1 -run '$(ROW_TESTS)' $(ROW_PACKAGES)
endif
	$(MAKE) docker-test

.PHONY: soak
soak: ## harm a cluster under load at random: FOR=10m (at least 1m), SEED=n to repeat one
	$(GO) test -count=1 -v -timeout 0 ./test/soak -for=$(or $(FOR),10m) -seed=$(or $(SEED),0)

.PHONY: jepsen
jepsen: ## put five hosts to Jepsen's test of Chronos, in full: a quarter of an hour; SEED=n to repeat one (needs root, ip, iptables)
	ROTA_FAULTS=1 ROTA_JEPSEN_SECONDS=450 ROTA_TEST_SEED=$(SEED) $(GO) test -count=1 -v -timeout 40m -run '^TestJepsen$$' ./test/network

.PHONY: sim
sim: ## break whole clusters in simulated time: SEEDS=2000 of them, FROM=0 the first seed
	$(GO) test -count=1 -v -timeout 1h ./test/sim -run '^TestSim$$' -sim.seeds=$(or $(SEEDS),2000) -sim.from=$(or $(FROM),0) | \
		grep --line-buffered -Ev '^(=== |    +--- PASS)'

.PHONY: bench
bench: ## measure whole nodes beside etcd's own limit, some 10 minutes; what the figures mean is in docs/explanation/performance.md
	@mkdir -p bin
	$(GO) build -o bin/bench ./test/bench
	bin/bench throughput -rate $(or $(RATE),20000)
	bin/bench throughput -rate $(or $(RATE3),5000) -members 3
	bin/bench floor
	bin/bench floor -members 3
	bin/bench herd -runs 10000
	bin/bench herd -runs 100000
	bin/bench herd -runs 100000 -capacity 100000 -ahead 30s
	bin/bench scale -jobs 1000
	bin/bench scale -jobs 1000000
	bin/bench idle

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
image: ## build bin/image, what the container image is made of
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
docker-test: ## break a cluster of three containers (needs Docker; skipped without it unless ROTA_CI=1)
	$(GO) test -count=1 -v -timeout 15m ./test/deploy

COMPOSE = $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose) -f deploy/compose.yaml

.PHONY: compose-up
compose-up: image ## start three replicas in containers at 127.0.0.1:8470 to 8472 (needs Docker and Compose)
	$(COMPOSE) up --build --detach

.PHONY: compose-down
compose-down: ## stop them; their data stays in volumes (needs Docker and Compose)
	$(COMPOSE) down

.PHONY: clean
clean: ## remove what was built, and the data of `make run`
	rm -rf bin .rota
