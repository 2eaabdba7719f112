# Needs Go, and a C compiler for test-race: every tool is pinned in a go.mod and built on demand.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help check demo demo-migration demo-multicluster up test test-unit test-race test-multicluster test-monitoring test-image test-chart test-ui soak bench bench-cluster bench-multicluster bench-scheduler build build-multicluster build-helm chart image release generate verify lint print-release-ldflags

version := k8s.io/component-base/version
controlplane_flags := -s -w -X $(version).gitVersion=v1.34.12 -X $(version).gitMajor=1 -X $(version).gitMinor=34
# What helm assumes of a cluster that it does not ask.
helm := helm.sh/helm/v3
helm_flags := -s -w $(foreach package,$(helm)/pkg/chartutil $(helm)/pkg/lint/rules,-X $(package).k8sVersionMajor=1 -X $(package).k8sVersionMinor=34)
# How often bench-cluster repeats.
COUNT ?= 3
# The packages whose tests take longest come first: at the end, one of them would run alone.
longest := ./pkg/simulation ./pkg/dispatcher ./pkg/plugins/capacity
unit_packages = $(longest) $$(go list ./... | grep -v /test/)
# Many tests wait for what they start, so more of them run at a time than there are processors. The garbage collector would take a quarter of the time.
go_test := GOGC=400 go test -p 4
# Packages that several goroutines call. The tests of the others run in one goroutine.
race_packages := ./pkg/accounting/... ./pkg/allocation ./pkg/dra ./pkg/readiness ./pkg/scheduler ./pkg/spent ./pkg/visibility/... ./pkg/plugins/... ./pkg/dispatcher/... ./pkg/webhook/...

# A release is a function of the commit and of these tools: whoever builds it gets the same bytes. The date is that of the commit.
VERSION = $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || echo v0.0.0-dev)
COMMIT = $(shell git describe --always --abbrev=40 --exclude '*' --dirty 2>/dev/null || echo unknown)
DATE = $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null || echo 1970-01-01T00:00:00Z)
# Where make image and make release push to, such as PUSH=registry.example.com/devicequota. They push nothing without it.
PUSH =
PLATFORMS ?= linux/amd64 linux/arm64
# A cold build of the scheduler takes minutes for each platform. The tests of hack/release build small programs for more platforms.
TEST_PLATFORMS = linux/amd64
PLUGIN_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
release_go := GOTOOLCHAIN=go1.26.8 GOFLAGS=-trimpath GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0
version_package := github.com/devicequota/devicequota/pkg/version
release_ldflags = -s -w -X $(version_package).version=$(VERSION) -X $(version_package).commit=$(COMMIT) -X $(version_package).date=$(DATE)
# $(call build_for,<platforms>,<packages>) builds programs into a folder of bin/programs for each platform.
build_for = for platform in $(1); do \
	  echo "building for $$platform"; \
	  $(release_go) GOOS=$${platform%/*} GOARCH=$${platform\#*/} \
	    go build -buildvcs=false -ldflags '$(release_ldflags)' -o "bin/programs/$${platform/\//-}/" $(2); \
	done
release_source = -version '$(VERSION)' -commit '$(COMMIT)' -date '$(DATE)'

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 20

demo: build ## Show a quota at work on a control plane of its own, about a minute
	bin/demo

demo-migration: build ## Show a node that moves from a device plugin to DRA under a running job, less than a minute
	bin/demo --migration

demo-multicluster: build-multicluster ## Show a quota over two clusters at work, less than three minutes
	bin/demo --multicluster

up: build ## Run a control plane with the sample nodes and queues until interrupted
	@echo 'When it is ready, in another terminal: export KUBECONFIG=<as printed>; kubectl apply -f config/samples/jobs'
	bin/devcluster up --manifests config/samples/cluster

test: build ## Run all tests, end to end included
	$(go_test) -timeout 30m $(longest) $$(go list ./... | grep -v /test/e2e)
	rm -f bin/e2e-failures.txt
	GOGC=400 go tool ginkgo -procs 2 -timeout 60m ./test/e2e # each process has a control plane of its own, which inherits GOGC
	go test -C hack/benchreport ./...
	go test -C hack/release ./...
	go test -C hack/sarif -count 1 ./...

test-unit: ## Run the tests that need no control plane
	$(go_test) $(unit_packages)

check: ## What to run before a commit: format, vet, rules of imports, and unit tests, with fewer random cases; minutes with a warm build cache
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	go vet ./...
	go run ./hack/importrules
	$(go_test) -vet=off -short $(unit_packages)

# How long each soak disturbs the scheduler, such as make soak DURATION=8h. SEED=7 repeats the random choices of a run that failed.
DURATION = 10m
SEED ?= $(shell date +%s)
soak: build ## Run random jobs behind a proxy that disturbs the scheduler, fills with kills, and random evictions, for DURATION each
	rm -f bin/e2e-failures.txt
	SOAK=$(DURATION) ELASTICITY_SOAK=$(DURATION) go test -v ./test/e2e -count 1 -timeout 0 -ginkgo.timeout 240h -ginkgo.v -ginkgo.seed $(SEED) \
	  -ginkgo.focus 'late or wrong view.* with a new seed|fills nodes again|in a soak, no queue waits'

test-ui: build ## Test the web page in a browser, which is installed with apt-get if it is not there
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y --no-install-recommends chromium; }
	go test -C test/ui -count 1 -timeout 20m ./...

test-image: ## Build the images twice, compare them, and run the commands of docs/release.md; needs git
	PLATFORMS='$(TEST_PLATFORMS)' PLUGIN_PLATFORMS='$(TEST_PLATFORMS)' go test -C hack/release -tags image -count=1 -timeout 30m -run TestReleasePage .

test-race: ## Run the tests of concurrent packages with the race detector; needs a C compiler
	CGO_ENABLED=1 go test -race -vet=off $(race_packages)

test-multicluster: build-multicluster ## Run the tests that need Karmada and several clusters
	rm -f bin/multicluster-failures.txt
	go test -tags multicluster -timeout 40m ./test/multicluster

test-monitoring: build ## Test the alerts and the dashboard with promtool, and with what a real scheduler exports
	go build -C hack/promtool -tags remove_all_sd -ldflags '-s -w' -o ../../bin/ github.com/prometheus/prometheus/cmd/promtool
	bin/promtool check config config/monitoring/prometheus.yaml
	bin/promtool test rules test/monitoring/rules_test.yaml
	go test -tags monitoring -timeout 5m -count 1 ./test/monitoring
	bin/promtool check metrics < bin/own-metrics.txt
	go test -C hack/promtool -tags remove_all_sd -count 1 ./...

test-chart: build build-helm ## Run docs/install.md and the installation of docs/multicluster.md; jq is installed with apt-get if it is not there
	command -v jq >/dev/null || { apt-get update -qq && apt-get install -y --no-install-recommends jq; }
	go test -tags chart -parallel 3 -timeout 30m ./test/chart

bench: ## Compare the plugin's speed with upstream's and write docs/performance.md, in minutes
	go build -C hack/benchreport -o ../../bin/ . golang.org/x/perf/cmd/benchstat
	go test ./test/benchmark -run '^$$' -bench . -benchtime 0.3s -timeout 60m -args -repetitions 6 | tee bin/bench.txt
	go test ./pkg/plugins/capacity ./pkg/plugins/capacity/internal/cards -run '^$$' -bench Card -benchtime 0.3s -count 6 | tee -a bin/bench.txt
	go test ./pkg/dispatcher -run '^$$' -bench Dispatcher -benchtime 0.3s -count 6 | tee -a bin/bench.txt
	bin/benchreport bin < bin/bench.txt

bench-scheduler: ## Compare the whole scheduler's speed with Volcano's and write its part of docs/performance.md, in an hour
	go build -C hack/benchreport -o ../../bin/ . golang.org/x/perf/cmd/benchstat
	go test -c -o bin/simulation.test ./pkg/simulation
	for pattern in $$(bin/simulation.test -test.run '^TestShapes$$' -test.v | sed -n 's/.*: benchmark //p'); do \
		bin/simulation.test -test.run '^$$' -test.bench "$$pattern" -test.benchtime 1x -test.timeout 20m || exit; \
	done | tee bin/bench-scheduler.txt
	bin/benchreport bin scheduler < bin/bench-scheduler.txt

bench-cluster: build ## Compare this scheduler, Volcano's, and that of Kubernetes on a real API server, and write its part of docs/performance.md, in an hour
	go build -C hack/benchreport -o ../../bin/ . golang.org/x/perf/cmd/benchstat
	go test ./test/load -run '^$$' -bench . -benchtime 1x -count $(COUNT) -timeout 4h | tee bin/bench-cluster.txt
	bin/benchreport bin cluster < bin/bench-cluster.txt

bench-multicluster: build-multicluster ## Measure pods per second through Karmada, with and without the dispatcher
	go test -tags multicluster ./test/multicluster/benchmark -run '^$$' -bench . -benchtime 1x -timeout 20m

build: ## Build the scheduler, and the control plane to try it on, into bin/
	@echo 'building into bin/; from a cold cache this takes several minutes'
	go build -ldflags '-s -w' -o bin/ ./cmd/... # without debug information, to link in half the time
	go build -C test/cluster/kwok -ldflags '-s -w' -o ../../../bin/kwok sigs.k8s.io/kwok/cmd/kwok
	go build -C test/cluster/controlplane -ldflags '$(controlplane_flags)' -o ../../../bin/controlplane .
	rm -rf bin/crds && mkdir -p bin/crds
	volcano=$$(go list -m -f '{{.Dir}}' volcano.sh/volcano); \
	install -m 644 "$$volcano"/config/crd/{volcano,jobflow}/bases/*.yaml bin/crds/

build-multicluster: build ## Build Karmada into bin/ as well; from a cold cache some minutes more
	go build -C test/cluster/karmada -ldflags '-s -w' -o ../../../bin/karmada .
	rm -rf bin/karmada-manifests && mkdir -p bin/karmada-manifests/crds
	karmada=$$(go -C test/cluster/karmada list -m -f '{{.Dir}}' github.com/karmada-io/karmada); \
	install -m 644 "$$karmada"/charts/karmada/_crds/bases/*/*.yaml bin/karmada-manifests/crds/; \
	install -m 644 "$$karmada"/artifacts/deploy/webhook-configuration.yaml bin/karmada-manifests/

image: ## Build images of vc-scheduler, vc-dispatcher, and vc-webhook into bin/images; with PUSH=<repository>, push them
	rm -rf bin/images
	$(call build_for,$(PLATFORMS),./cmd/vc-scheduler ./cmd/vc-dispatcher ./cmd/vc-webhook)
	$(release_go) go build -C hack/release -o ../../bin/release-tool .
	bin/release-tool images $(release_source) -binaries bin/programs -platforms '$(PLATFORMS)' -out bin/images \
	  $(if $(PUSH),-repository '$(PUSH)' -push) vc-scheduler vc-dispatcher vc-webhook
	cat bin/images/digests.txt

release: image build-helm ## Build all that a release has into bin/release: make release VERSION=v0.1.0; with PUSH=<repository>, push the images
	rm -rf bin/release
	$(call build_for,$(PLUGIN_PLATFORMS),./cmd/kubectl-devicequota)
	bin/release-tool archives $(release_source) -binaries bin/programs -platforms '$(PLUGIN_PLATFORMS)' -out bin/release
	bin/release-tool notes -version '$(VERSION)' < CHANGELOG.md > bin/release-notes.md
	cp bin/images/*.spdx.json bin/images/digests.txt bin/release/
	bin/helm package charts/devicequota --version '$(VERSION:v%=%)' --app-version '$(VERSION)' --destination bin/release
	$(if $(PUSH),bin/helm push 'bin/release/devicequota-$(VERSION:v%=%).tgz' 'oci://$(PUSH)/charts')
	cd bin/release && sha256sum -- * > checksums.txt

print-release-ldflags:
	@echo "$(release_ldflags)"

build-helm: ## Build helm into bin/
	go build -C hack/helm -ldflags '$(helm_flags)' -o ../../bin/helm helm.sh/helm/v3/cmd/helm

chart: build-helm ## Package the Helm chart into bin/
	bin/helm package charts/devicequota --destination bin

generate: ## Generate clients, deepcopy functions and the CRD from apis/, alerts, dashboard, and docs/metrics.md from pkg/metric, docs/reference.md, the table of layers in docs/architecture.md, and the copies of manifests in the chart
	hack/update-codegen.sh
	go run ./hack/importrules -write
	go run ./hack/monitoring
	go run ./hack/reference
	hack/update-chart.sh

verify: ## Fail if generated files or go.mod are not up to date
	hack/verify-codegen.sh
	go run ./hack/importrules
	go test ./hack/monitoring ./hack/reference
	go mod tidy -diff
	go -C test/cluster/controlplane mod tidy -diff
	go -C test/cluster/karmada mod tidy -diff
	go -C test/cluster/kwok mod tidy -diff
	go -C hack/tools mod tidy -diff
	go -C hack/benchreport mod tidy -diff
	go -C hack/promtool mod tidy -diff
	go -C hack/release mod tidy -diff
	go -C hack/helm mod tidy -diff
	go -C hack/sarif mod tidy -diff
	go -C test/ui mod tidy -diff

lint: ## Check formatting, go vet, staticcheck, imports between packages, licence headers, and links in *.md files
	unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt on $$unformatted" >&2; exit 1; }
	go run ./hack/importrules
	go run ./hack/linkcheck
	go run ./hack/boilerplate
	go vet ./...
	go vet -tags multicluster ./test/multicluster/...
	go vet -tags monitoring ./test/monitoring
	go vet -tags chart ./test/chart
	go -C test/cluster/controlplane vet ./...
	go -C test/cluster/karmada vet ./...
	go -C hack/benchreport vet ./...
	go -C test/ui vet ./...
	go -C hack/promtool vet -tags remove_all_sd ./...
	go -C hack/sarif vet ./...
	go -C hack/release vet -tags image ./...
	go build -C hack/tools -o ../../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	bin/staticcheck -tags multicluster ./test/multicluster/...
	bin/staticcheck -tags monitoring ./test/monitoring
	bin/staticcheck -tags chart ./test/chart
