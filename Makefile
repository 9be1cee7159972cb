# What a contributor types; `make` and `make help` list it. Needs go, make, git
# and bash, nothing else: every tool is pinned in hack/tools/go.mod and every
# server of the control plane in test/controlplane/go.mod.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The version in `ambit version`. Without tags it is a commit, without git `devel`.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# controller-runtime's client brings the generated code of all API groups, and following CRDs theirs: next to nothing
# of it runs. Without inlining it is smaller, and with each map that a package begins with in a function of its own
# (wrapglobalmapctl=2, a setting for tests of the compiler; Go 1.26 has it), the linker leaves out the maps of
# documentation that nobody reads: 2.5 MB of the file, 2 MiB of memory. A compiler that does not know the setting says
# so: leave it out then. The Dockerfile says the same. What bench compares Ambit with runs some of that code, and is built
# without this, as by hand.
API_TYPES := -gcflags='k8s.io/api/...=-l -d=wrapglobalmapctl=2' -gcflags='k8s.io/apiextensions-apiserver/...=-l -d=wrapglobalmapctl=2'
# One source tree makes one binary, wherever it is built: no paths, no C, no
# stamp but the version (git may also refuse a folder that another user owns).
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags '-s -w -X github.com/ambit-dev/ambit/pkg/internal/version.version=$(VERSION)'
OUTPUT ?= bin/ambit
TOOL := go tool -modfile=$(CURDIR)/hack/tools/go.mod

# The image that is built and deployed, by what it is built, and the overlay of
# manifests/ that is deployed: cluster, isolated, namespaced or demo. IMG may have a digest,
# as in registry.example.com/ambit@sha256:...
IMG ?= ambit:latest
# What the image is built with and on; empty: as the Dockerfile says. By digest they are the
# same tomorrow: BUILD_IMAGE=golang:1.26@sha256:...
BUILD_IMAGE ?=
BASE_IMAGE ?=
CONTAINER_TOOL ?= docker
OVERLAY ?= cluster
KUBECTL ?= bin/kubectl
# What `make run` is told.
RUN_FLAGS ?= --policies-from=crd,configmap
# What a release has binaries for.
PLATFORMS ?= linux/amd64 linux/arm64

# Test binaries at once. Those with a control plane of their own mostly wait for it, and take
# about 0.5 GiB each.
TEST_PARALLEL ?= 4
TEST_TIMEOUT ?= 30m
# The stories that measure: what rights that come and go, hostile policies, records and
# edits cost others. They are part of `make bench`, not of `make test`.
MEASURED := ^Test(FlapsLatency|HostileLatency|HostileEdits)$$
# The stories that look on for long, or do many times what a plan of faults does as well. They are
# part of `make soak`.
LONG := ^Test(CleanupRightMissing|DeletedKindEndsNothing|Flaps|Hostile|HostileOwners|HostileQuarantine|HostileRecords|LiveAtRandom|LiveEdits|ManagerPaused|OneRefusedReviewLosesNobody|PoliciesTogether|PruneAPIServerRestarts|StatusContested|StatusWiped)$$
# The tests that know how long something may take by the wall clock: `make soak` fails if it takes longer, `make test`
# says so (test/timed).
TIMED := ^Test(Real.*|ContainerStartsAgain|Hold|Lease|SchemasLate|TracesNobodyListens)$$
TIMED_PACKAGES := ./pkg/access ./pkg/informer ./pkg/internal/life ./pkg/manager ./pkg/policysource
E2E_TIMEOUT ?= 60m
# Stories at once.
E2E_PARALLEL ?= 6
# How long each fuzz target runs, and which of them: a regular expression. FUZZ_KEEP=keep puts
# inputs that reached new code into testdata/fuzz.
FUZZ_TIME ?= 1m
FUZZ_TARGET ?= .
FUZZ_KEEP ?=
# How long `make soak` runs, and the seed of its first plan: another one each day, unless told.
SOAK_TIME ?= 1h
SOAK_SEED ?= $(shell date +%y%m%d)000000
# How many plans of faults with made values, and how many with times, `make soak` runs: about two in a second.
SOAK_PLANS ?= 10000
# The packages whose tests have properties. `make test` draws the same cases in each run.
PROPERTIES := go list -f '{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$.ImportPath}}{{end}}{{end}}' ./pkg/...
# The packages whose tests run a part of their cases with the race detector, and all without it:
# they import test/raced or test/draws/fewer.
FEWER := go list -test -f '{{if .ForTest}}{{range .Imports}}{{if or (eq . "github.com/ambit-dev/ambit/test/raced") (eq . "github.com/ambit-dev/ambit/test/draws/fewer")}}{{$$.ForTest}}{{"\n"}}{{end}}{{end}}{{end}}' ./pkg/... ./test/sim/... | sort -u
# The packages that are tested with the race detector: those of the product, operators that are made with it, and the
# simulated cluster. The others build, generate, measure, show, or help tests.
RACED_PACKAGES := ./pkg/... ./cmd/... ./examples/... ./test/kubebuilder/... ./test/sim ./test/sim/faultplan
OTHER_PACKAGES := go list ./... | grep -vxFf <(go list $(RACED_PACKAGES))
# How many plans of faults `make test` runs without the race detector; `make soak` runs them for
# SOAK_TIME, and RACED_PLANS with the race detector.
PLANS ?= 3000
RACED_PLANS ?= 3000
# Which seeded bugs `make bugs` runs, a regular expression, and how many plans may go by until
# one of them catches a bug.
BUG ?= .
BUG_PLANS ?= 4000
# How often the plan that caught a bug is run again, in processes of its own.
BUG_REPLAYS ?= 0
# The race detector needs a C compiler; a machine without one runs without it. Some 100 packages are linked with it
# for each run, a quarter of which is reading what only a debugger asks for. What runs without it is built without C,
# as what users get is, and linked in four fifths of the time. A make within make is told what the first has found.
ifndef RACE
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race -gcflags=all=-dwarf=false)
endif
RACE_C := $(if $(RACE),CGO_ENABLED=1)
export RACE
export CGO_ENABLED := 0
# `make lint` has vet look at all packages, their tests too.
GO_TEST := go test -vet=off
# The end of each test with the race detector waits for a second, unless told; and who compiles, links
# and tests spends a fifth of the time on collecting garbage, unless that is done more rarely.
TESTS := test test-others test-fast test-fast-packages test-unraced test-plans test-cases test-e2e test-packages test-suites
$(TESTS): export GORACE ?= atexit_sleep_ms=50
$(TESTS): export GOGC ?= 400
# More for the comparison with other operators, such as
# BENCH_FLAGS='-owners 2000 -rounds 1'.
BENCH_FLAGS ?=
# More for the run with many owners, such as LARGE_FLAGS='-scale 20 -scenes one-child'.
LARGE_FLAGS ?=
# More for the comparison with other engines, such as PEERS_FLAGS='-owners 100 -sides ambit,kro-tuned'.
PEERS_FLAGS ?=
# More for the latencies of rights, such as RIGHTS_FLAGS='-cycles 400'.
RIGHTS_FLAGS ?=

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/ambit.
	$(GO_BUILD) $(API_TYPES) -o $(OUTPUT) ./cmd/ambit

.PHONY: run
run: build ## Run Ambit here, against the cluster of the kubeconfig, with the policies in it (RUN_FLAGS).
	bin/ambit run $(RUN_FLAGS)

.PHONY: controlplane
controlplane: ## Build what is missing of etcd, Kubernetes and KWOK into bin/ (cold: 5 to 10 minutes).
	cd test/controlplane && go build -buildvcs=false -o ../../bin/controlplane .
	bin/controlplane build --bin bin

.PHONY: demo
demo: build controlplane ## Run the Memcached operator on a real control plane and narrate it.
	go run -buildvcs=false ./test/demo

.PHONY: example-scopedcache
example-scopedcache: ## Run the Memcached operator in Go, against the cluster of the kubeconfig.
	go run -buildvcs=false ./examples/scopedcache

# kubectl and Helm as they are pinned, whatever else is installed.
DEPLOY_PINS := hack/deploy/go.mod hack/deploy/go.sum
DEPLOY_BUILD := CGO_ENABLED=0 go build -C hack/deploy -trimpath -buildvcs=false -ldflags '-s -w'
bin/kubectl: $(DEPLOY_PINS) hack/deploy/kubectl/main.go
	$(DEPLOY_BUILD) -o ../../bin/kubectl ./kubectl
bin/helm: $(DEPLOY_PINS)
	$(DEPLOY_BUILD) -o ../../bin/helm helm.sh/helm/v4/cmd/helm

.PHONY: test
test: controlplane bin/kubectl bin/helm ## Run the tests (but what `make soak` and `make bench` look on for), those of packages with the race detector where there is a C compiler.
	$(MAKE) --no-print-directory -j2 test-packages test-others

# What is tested beside the packages, one after the other.
.PHONY: test-others
test-others:
	$(MAKE) --no-print-directory test-e2e
	$(MAKE) --no-print-directory test-suites
	$(MAKE) --no-print-directory test-unraced

.PHONY: test-fast
test-fast: ## Run the tests that need no control plane, and the plans of faults on the simulated cluster.
	$(MAKE) --no-print-directory -j2 test-fast-packages test-unraced

.PHONY: test-fast-packages
test-fast-packages:
	$(GO_TEST) -short -timeout $(TEST_TIMEOUT) -p $(TEST_PARALLEL) $$($(OTHER_PACKAGES) | grep -vE '/test/(cluster|e2e|install)$$')
	$(RACE_C) $(GO_TEST) -short $(RACE) -timeout $(TEST_TIMEOUT) -p $(TEST_PARALLEL) $(RACED_PACKAGES)

# What the race detector would make many times as long: plans of faults, what expressions cost, and
# all cases of tests that draw many.
.PHONY: test-unraced test-plans test-cases
test-unraced:
	$(MAKE) --no-print-directory -j2 test-plans test-cases
test-plans:
	$(GO_TEST) -short -timeout $(TEST_TIMEOUT) ./test/sim -plans $(PLANS) -cron-days 31
test-cases:
	$(GO_TEST) -short -timeout $(TEST_TIMEOUT) -p 2 $$($(FEWER) | grep -v '/test/sim$$')

# The stories mostly wait: the other packages are tested beside them. The race detector would
# double what they compute; that time goes to plans. It is with the packages, and with 150 plans.
.PHONY: test-e2e
test-e2e: controlplane
	$(GO_TEST) -timeout $(E2E_TIMEOUT) -parallel $(E2E_PARALLEL) -skip '$(MEASURED)|$(LONG)' ./test/e2e

.PHONY: test-packages
test-packages: controlplane bin/kubectl bin/helm
	$(GO_TEST) -timeout $(TEST_TIMEOUT) -p $(TEST_PARALLEL) $$($(OTHER_PACKAGES) | grep -vE '/test/(e2e|suites)$$')
	$(RACE_C) $(GO_TEST) $(RACE) -timeout $(TEST_TIMEOUT) -p $(TEST_PARALLEL) $(RACED_PACKAGES)
	cd test/controlplane && $(GO_TEST) -timeout $(TEST_TIMEOUT) ./...

# The race detector would have all of Kubernetes' clients built once more: `make soak` runs them with it.
.PHONY: test-suites
test-suites: controlplane ## Run controller-runtime's own suites of caches with Ambit's: two minutes.
	$(GO_TEST) -timeout $(TEST_TIMEOUT) ./test/suites

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZ_TIME (1m), and stop at the first that fails.
	hack/fuzz.sh $(FUZZ_TIME) $(FUZZ_KEEP) '$(FUZZ_TARGET)'

.PHONY: soak
soak: controlplane ## Run plans of faults on the simulated cluster for SOAK_TIME (1h), from the seed SOAK_SEED; then SOAK_PLANS with made values and with times, properties with draws of their own, what is promised in seconds, and the stories that look on for long, or again and again.
	go test -count=1 -timeout 0 -v -run '^TestPlans$$' ./test/sim -soak $(SOAK_TIME) -first $(SOAK_SEED)
	go test -count=1 -timeout 0 -v -run '^Test(MadePlans|TimedPlans|TimedOwners)$$' ./test/sim -made-plans $(SOAK_PLANS) -made-first $(SOAK_SEED) -timed-plans $(SOAK_PLANS) -timed-first $(SOAK_SEED) -timed-owners 10000
	go test -count=1 -timeout $(E2E_TIMEOUT) -v -run '^TestTime$$' ./pkg/plan -timed-policies 1000
	$(RACE_C) go test -count=1 $(RACE) -timeout $(E2E_TIMEOUT) -run '^TestPlans$$' ./test/sim -plans $(RACED_PLANS) -first $(SOAK_SEED)
	$(RACE_C) go test -count=1 $(RACE) -timeout $(E2E_TIMEOUT) -run '^Test(DeniedIsQuiet|MadeForLong)$$' ./test/sim -all-raced
	$(RACE_C) go test -count=1 $(RACE) -timeout $(E2E_TIMEOUT) ./test/sim/faultplan -all-raced
	go test -count=1 -timeout $(E2E_TIMEOUT) -run '^Test(Plans|ManyHandles)$$' ./pkg/scopedcache -plans 50000 -first $(SOAK_SEED) -handles 10000
	go test -count=1 -timeout $(E2E_TIMEOUT) $$($(PROPERTIES)) -rapid.seed=0 -rapid.checks=1000
	go test -count=1 -p 1 -timeout $(TEST_TIMEOUT) -run '$(TIMED)' $(TIMED_PACKAGES) -timed
	$(RACE_C) go test -count=1 $(RACE) -timeout $(TEST_TIMEOUT) -run '^TestSuites$$' ./test/suites -seed $(shell date +%y%m%d)
	go test -count=1 -timeout $(E2E_TIMEOUT) -v -run '^Test(Quiet|PoliciesQuiet|ManagerKills|PolicyCronJob)$$|$(LONG)' ./test/e2e -steady 1m -kills 30 -timed -cron-minutes 15

.PHONY: bugs
bugs: ## Put each seeded bug (BUG) into the code, and fail if plans of faults do not catch it.
	go run -buildvcs=false ./test/sim/bugs -bug '$(BUG)' -plans $(BUG_PLANS) -replays $(BUG_REPLAYS)

.PHONY: lint
lint: ## Run gofmt, go vet, staticcheck, the rules of imports and names, and vulncheck.
	@unformatted=$$(gofmt -l -s .); \
	if [ -n "$$unformatted" ]; then printf 'not gofmt -s formatted:\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOL) staticcheck ./...
	cd test/controlplane && go vet . && $(TOOL) staticcheck .
	go test -count=1 ./test/imports ./test/names
	hack/vulncheck.sh

.PHONY: generate
generate: ## Regenerate the CRD, the deepcopy functions and docs/policy.md from pkg/api.
	$(TOOL) controller-gen object paths=./pkg/api/... crd:allowDangerousTypes=true output:crd:dir=manifests/crd
	go run -buildvcs=false ./hack/crd manifests/crd/ambit.dev_reconcilepolicies.yaml
	go run -buildvcs=false ./hack/docs

.PHONY: manifests
manifests: generate bin/kubectl ## Remake what is copied or built from manifests/: install.yaml, the demo, the chart's files, the OLM bundle.
	cp examples/memcached/crd.yaml manifests/demo/crd.yaml
	cp policies/memcached.yaml manifests/demo/policy.yaml
	bin/kubectl kustomize manifests/cluster -o manifests/install.yaml
	mkdir -p charts/ambit/files
	cp manifests/crd/ambit.dev_reconcilepolicies.yaml charts/ambit/files/crd.yaml
	cp manifests/monitoring/alerts.yaml manifests/monitoring/dashboard.json charts/ambit/files/
	go run -buildvcs=false ./hack/bundle manifests/install.yaml bundle

.PHONY: bundle
bundle: manifests ## Remake the OLM bundle in bundle/, and look whether it is whole.
	go test -count=1 -run '^TestBundle' ./test/install

# What `generate` and `manifests` write.
GENERATED := manifests/crd docs/policy.md ':(glob)pkg/api/**/zz_generated.*.go' \
	manifests/install.yaml manifests/demo charts/ambit/files bundle

.PHONY: verify
verify: manifests ## Fail if generated files or go.mod are not what the sources say.
	@git diff --exit-code -- $(GENERATED) || { echo 'generated files are not those of the index: if the change is meant, git add them'; exit 1; }
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	if [ -n "$$untracked" ]; then printf 'generated, but not in the index:\n%s\n' "$$untracked"; exit 1; fi
	go mod tidy -diff
	cd test/controlplane && go mod tidy -diff
	cd hack/deploy && go mod tidy -diff

.PHONY: install
install: bin/kubectl ## Install the kind ReconcilePolicy in the cluster of the kubeconfig.
	$(KUBECTL) apply --server-side -k manifests/crd

.PHONY: uninstall
uninstall: bin/kubectl ## Remove the kind ReconcilePolicy, and with it all policies that are custom resources.
	$(KUBECTL) delete --ignore-not-found -k manifests/crd

.PHONY: deploy
deploy: bin/kubectl ## Deploy Ambit with the image IMG, as manifests/OVERLAY says.
	$(KUBECTL) kustomize manifests/$(OVERLAY) | sed 's|image: ambit:latest|image: $(IMG)|' | $(KUBECTL) apply --server-side -f -

.PHONY: undeploy
undeploy: bin/kubectl ## Remove what deploy made: look at `ambit leftovers` first.
	$(KUBECTL) kustomize manifests/$(OVERLAY) | $(KUBECTL) delete --ignore-not-found -f -

.PHONY: docker-build
docker-build: ## Build the image IMG with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) $(if $(BUILD_IMAGE),--build-arg BUILD_IMAGE=$(BUILD_IMAGE)) \
		$(if $(BASE_IMAGE),--build-arg BASE_IMAGE=$(BASE_IMAGE)) --tag $(IMG) .

.PHONY: reproducible
reproducible: ## Build twice, in two folders, and fail if the bytes differ.
	hack/reproducible.sh $(VERSION)

.PHONY: release
release: bin/kubectl bin/helm ## Make dist/ for VERSION and PLATFORMS: binaries, SBOMs, install.yaml, the chart, checksums.
	hack/release.sh $(VERSION) $(IMG) $(PLATFORMS)

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities, where their database can be reached (or is in GOVULNDB).
	hack/vulncheck.sh

.PHONY: bench
bench: build controlplane ## Run the Go benchmarks, Ambit beside other operators, how fast it follows rights, and what a large tenant costs.
	go test -run '^$$' -bench . -benchmem ./pkg/...
	$(GO_BUILD) -o bin/bench-bare ./test/bench/bare
	$(GO_BUILD) -o bin/bench-handwritten ./test/bench/handwritten
	go run -buildvcs=false ./test/bench $(BENCH_FLAGS)
	go run -buildvcs=false ./test/rights $(RIGHTS_FLAGS)
	go run -buildvcs=false ./test/tenants $(TENANTS_FLAGS)
	go test -count=1 -timeout $(E2E_TIMEOUT) -run '$(MEASURED)' -v ./test/e2e

.PHONY: bench-large
bench-large: build controlplane ## Run Ambit with 1,000 to 10,000 owners, with 36,000 children, and with 1,000 namespaces permitted one by one: a quarter of an hour, three minutes with LARGE_FLAGS='-scale 50'.
	$(GO_BUILD) -o bin/bench-bare ./test/bench/bare
	go run -buildvcs=false ./test/bench/large $(LARGE_FLAGS)

# Its module, test/peers, is not verified: to tidy it downloads 100 MB that only this target needs.
# The program builds kro itself, once, and says in the table's foot what cannot be had.
.PHONY: bench-peers
bench-peers: build controlplane ## Run Ambit beside kro, which is built from its Go module into bin/, and metacontroller where there is a binary of it: five minutes, ten more with metacontroller.
	$(GO_BUILD) -o bin/bench-webhook ./test/bench/webhook
	go run -buildvcs=false ./test/bench/peers $(PEERS_FLAGS)

.PHONY: clean
clean: ## Delete bin/, the built servers too.
	rm -rf bin
