# What a contributor types; `make` and `make help` list it. Needs go, make, git
# and bash, nothing else: every tool is pinned in hack/tools/go.mod and every
# server of the control plane in test/controlplane/go.mod.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The version in `ambit version`. Without tags it is a commit, without git `devel`.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# One source tree makes one binary, wherever it is built: no paths, no C, no
# stamp but the version (git may also refuse a folder that another user owns).
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags '-s -w -X github.com/ambit-dev/ambit/pkg/internal/version.version=$(VERSION)'
TOOL := go tool -modfile=$(CURDIR)/hack/tools/go.mod

# Test binaries at once. Each package with a control plane takes about a core and
# 0.5 GiB.
TEST_PARALLEL ?= 2
TEST_TIMEOUT ?= 15m
# The race detector needs a C compiler; a machine without one runs without it.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
# More for the comparison with other operators, such as
# BENCH_FLAGS='-owners 2000 -rounds 1'.
BENCH_FLAGS ?=

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## Build bin/ambit.
	$(GO_BUILD) -o bin/ambit ./cmd/ambit

.PHONY: controlplane
controlplane: ## Build what is missing of etcd, Kubernetes and KWOK into bin/ (cold: 5 to 10 minutes).
	cd test/controlplane && go build -buildvcs=false -o ../../bin/controlplane .
	bin/controlplane build --bin bin

.PHONY: demo
demo: build controlplane ## Run the Memcached operator on a real control plane and narrate it.
	go run -buildvcs=false ./test/demo

.PHONY: test
test: controlplane ## Run all tests, with the race detector where there is a C compiler.
	go test $(RACE) -timeout $(TEST_TIMEOUT) -p $(TEST_PARALLEL) ./...
	cd test/controlplane && go test -timeout $(TEST_TIMEOUT) ./...

.PHONY: lint
lint: ## Run gofmt, go vet, staticcheck and the import-direction test.
	@unformatted=$$(gofmt -l -s .); \
	if [ -n "$$unformatted" ]; then printf 'not gofmt -s formatted:\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	$(TOOL) staticcheck ./...
	cd test/controlplane && go vet . && $(TOOL) staticcheck .
	go test -count=1 ./test/imports

.PHONY: generate
generate: ## Regenerate the CRD and the deepcopy functions from pkg/api.
	$(TOOL) controller-gen object paths=./pkg/api/... crd output:crd:dir=manifests/crd

# What `generate` writes.
GENERATED := manifests/crd ':(glob)pkg/api/**/zz_generated.*.go'

.PHONY: verify
verify: generate ## Fail if generated files or go.mod are not what the sources say.
	git diff --exit-code -- $(GENERATED)
	@untracked=$$(git ls-files --others --exclude-standard -- $(GENERATED)); \
	if [ -n "$$untracked" ]; then printf 'generated, but not committed:\n%s\n' "$$untracked"; exit 1; fi
	go mod tidy -diff
	cd test/controlplane && go mod tidy -diff

.PHONY: bench
bench: build controlplane ## Run the Go benchmarks, then Ambit beside a bare client and a hand-written operator.
	go test -run '^$$' -bench . -benchmem ./pkg/...
	$(GO_BUILD) -o bin/bench-bare ./test/bench/bare
	$(GO_BUILD) -o bin/bench-handwritten ./test/bench/handwritten
	go run -buildvcs=false ./test/bench $(BENCH_FLAGS)

.PHONY: clean
clean: ## Delete bin/, the built servers too.
	rm -rf bin
