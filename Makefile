# Needs Go, and a C compiler for test-race: every tool is pinned in a go.mod and built on demand.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo up test test-unit test-race bench build generate verify lint

version := k8s.io/component-base/version
controlplane_flags := -s -w -X $(version).gitVersion=v1.34.1 -X $(version).gitMajor=1 -X $(version).gitMinor=34
unit_packages = $$(go list ./... | grep -v /test/)
# Packages that several goroutines call. The tests of the others run in one goroutine.
race_packages := ./pkg/allocation ./pkg/dra ./pkg/readiness ./pkg/plugins/...

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: build ## Show a quota at work on a control plane of its own, about a minute
	bin/demo

up: build ## Run a control plane with the sample nodes and queues until interrupted
	@echo 'When it is ready, in another terminal: export KUBECONFIG=<as printed>; kubectl apply -f config/samples/jobs'
	bin/devcluster up --manifests config/samples/cluster

test: build ## Run all tests, end to end included
	go test -timeout 20m ./...
	go test -C hack/benchreport ./...

test-unit: ## Run the tests that need no control plane
	go test $(unit_packages)

test-race: ## Run the tests of concurrent packages with the race detector; needs a C compiler
	go test -race -vet=off $(race_packages)

bench: ## Compare the plugin's speed with upstream's and write docs/performance.md, in minutes
	go build -C hack/benchreport -o ../../bin/ . golang.org/x/perf/cmd/benchstat
	go test ./test/benchmark -run '^$$' -bench . -benchtime 0.3s -timeout 60m -args -repetitions 6 | tee bin/bench.txt
	go test ./pkg/plugins/capacity ./pkg/plugins/capacity/internal/cards -run '^$$' -bench Card -benchtime 0.3s -count 6 | tee -a bin/bench.txt
	bin/benchreport bin < bin/bench.txt

build: ## Build the scheduler, and the control plane to try it on, into bin/
	@echo 'building into bin/; from a cold cache this takes several minutes'
	go build -o bin/ ./cmd/...
	go build -C test/cluster/kwok -ldflags '-s -w' -o ../../../bin/kwok sigs.k8s.io/kwok/cmd/kwok
	go build -C test/cluster/controlplane -ldflags '$(controlplane_flags)' -o ../../../bin/controlplane .
	rm -rf bin/crds && mkdir -p bin/crds
	volcano=$$(go list -m -f '{{.Dir}}' volcano.sh/volcano); \
	install -m 644 "$$volcano"/config/crd/{volcano,jobflow}/bases/*.yaml bin/crds/

generate: ## Generate clients, deepcopy functions and the CRD from apis/
	hack/update-codegen.sh

verify: ## Fail if generated files or go.mod are not up to date
	hack/verify-codegen.sh
	go mod tidy -diff
	go -C test/cluster/controlplane mod tidy -diff
	go -C test/cluster/kwok mod tidy -diff
	go -C hack/tools mod tidy -diff
	go -C hack/benchreport mod tidy -diff

lint: ## Check formatting, go vet, staticcheck, imports between packages, licence headers, and links in *.md files
	unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt on $$unformatted" >&2; exit 1; }
	go run ./hack/importrules
	go run ./hack/linkcheck
	go run ./hack/boilerplate
	go vet ./...
	go -C test/cluster/controlplane vet ./...
	go -C hack/benchreport vet ./...
	go build -C hack/tools -o ../../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
