# The index of what can be done here: bare `make` prints it.

CARGO ?= cargo
# Where `make run` keeps its data.
DATA_DIR ?= hanse-data
# How often `make test-powercut` cuts the power of each engine.
POWER_CUTS ?= 20
# Programs and files that are needed, each with the Debian package that brings it.
BUILD_TOOLS := cc:build-essential c++:build-essential protoc:protobuf-compiler \
	/usr/include/google/protobuf/descriptor.proto:libprotobuf-dev
TEST_TOOLS := etcd:etcd-server openssl:openssl mkfs.ext4:e2fsprogs mount:mount losetup:mount
# The same features everywhere, so that what was built once is used again.
FEATURES := --all-features
TOOLS := $(CURDIR)/target/tools/bin
DENY := target/tools/bin/cargo-deny
DENY_VERSION := 0.20.2
# What makes a book of docs/, and draws its pictures. The pictures need scripts, which are put beside a copy of the pages.
MDBOOK := target/tools/bin/mdbook target/tools/bin/mdbook-mermaid
MDBOOK_VERSIONS := mdbook@0.5.4 mdbook-mermaid@0.17.1
BOOK := $(or $(CARGO_TARGET_DIR),target)/book

# Real Kubernetes programs, and the release they are of: the one that tests/peers/go.mod requires.
KUBE := $(addprefix $(TOOLS)/,kube-apiserver kube-controller-manager kubectl)
SUITE := $(addprefix $(TOOLS)/,e2e.test ginkgo)
KUBE_VERSION := $(shell sed -n 's,^.*k8s.io/kubernetes v,v,p' tests/peers/go.mod)
# Kubernetes' own build says of what version a program is by setting these.
KUBE_SAYS = $(foreach fact,gitVersion=$(KUBE_VERSION) gitMajor=1 gitMinor=$(word 2,$(subst ., ,$(KUBE_VERSION))) \
	gitTreeState=clean,-X k8s.io/component-base/version.$(fact))
GO_BUILD_FLAGS = -trimpath -ldflags "-s -w $(KUBE_SAYS)"

# The Python client, in an environment of its own.
PYTHON_DIR := $(CURDIR)/target/tools/python
PYTHON := $(PYTHON_DIR)/bin/python
PYTHON_CLIENT := kubernetes==37.0.2
# A terminal that can be read, for what the book shows of one.
PYTHON_TERMINAL := pyte==0.8.2

# What `make e2e` and `make conformance` run against: a command that takes a folder for its data and puts
# admin.kubeconfig there. SERVER=tests/peers/kube.sh is a real kube-apiserver.
HANSE := $(or $(CARGO_TARGET_DIR),target)/debug/hanse
RELEASE := $(or $(CARGO_TARGET_DIR),target)/release
SERVER = $(HANSE) serve --listen 127.0.0.1:0 --data-dir
WITH_SERVER = TOOLS=$(TOOLS) tests/peers/with.sh "$(SERVER)"
# Or a server that runs already. Only if it is named for this run: tests are not for the cluster of somebody's shell.
ifeq ($(origin KUBECONFIG),command line)
WITH_SERVER = KUBECONFIG=$(abspath $(KUBECONFIG))
SERVER =
endif
# Which conformance tests, and how many of them at a time: those of tests/conformance/tier-a.txt need an API server
# alone, tier-b.txt those controllers besides that every API server has, tier-n.txt two Node objects that are ready.
TIER ?= a
PROCS ?= 6
# Where `make bench` writes down what it measures.
MEASURED := target/bench/measured
# How many seeds `make simulation` goes through.
SEEDS ?= 1000
# Which stories `make differential` tells: those whose name begins with one of these, separated by commas. All if empty.
TOPIC ?=
# What a kube-apiserver needs beside it to do what Hanse does by itself.
UPKEEP := namespace-controller,garbage-collector-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,$\
	persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,clusterrole-aggregation-controller

# mkfs and losetup are not on everybody's path.
export PATH := $(PATH):/usr/sbin:/sbin
.DEFAULT_GOAL := help
.PHONY: help run build package test test-powercut check fmt generate bench bench-storage bench-api bench-extend bench-auth bench-isolation bench-workspaces bench-federation bench-build measure \
	build-tools test-tools tools e2e kcp-quickstart kcp-programs federation federation-three federation-datum federation-join federation-karmada simulation newcomer docs-test docs-reference book deploy-test aggregation aggregation-front conformance differential server need-go

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build-tools ## Build and run a federation to try: a server with its store in ./hanse-data (DATA_DIR=...), and three cells
	$(CARGO) build --release --workspace --bin hanse $(FEATURES)
	$(RELEASE)/hanse dev --data-dir $(DATA_DIR)

build: build-tools ## Build the release binary, target/release/hanse
	$(CARGO) build --release --workspace --bin hanse $(FEATURES)

package: build ## Build a Debian package, target/package/hanse_*.deb
	deploy/package.sh $(or $(CARGO_TARGET_DIR),target)/release/hanse $(or $(CARGO_TARGET_DIR),target)/package

test: test-tools ## Run every test
	$(CARGO) test --workspace $(FEATURES)

test-powercut: test-tools ## Cut the power of a running store, 20 times per engine (POWER_CUTS=...)
	DURABILITY_POWER_CUTS=$(POWER_CUTS) $(CARGO) test --package storage $(FEATURES) --test durability -- \
		powercut --nocapture --test-threads=1

e2e: tools test-tools server $(PYTHON) ## Run real clients (kubectl, Helm, Go, Python, Rust) against the server (SERVER=... for another one)
	$(WITH_SERVER) go -C tests/clients/go test -trimpath -count=1 -timeout 10m ./...
	$(WITH_SERVER) go -C tests/clients/helm test -count=1 -timeout 10m ./...
	$(WITH_SERVER) $(CARGO) test --manifest-path tests/clients/rust/Cargo.toml --locked --target-dir $(or $(CARGO_TARGET_DIR),target)/clients
	$(WITH_SERVER) $(PYTHON) -m unittest discover --start-directory tests/clients/python

kcp-quickstart: $(TOOLS)/kubectl server ## Run kcp's quickstart with its kubectl plugins (KCP_PLUGINS=DIR, if they are not on the path)
	$(WITH_SERVER) env TOOLS=$(TOOLS) KCP_PLUGINS=$(abspath $(KCP_PLUGINS)) tests/clients/kcp/quickstart.sh

kcp-programs: need-go server ## Run controllers built with kcp's multicluster-provider against the server (KCP_MODFILE=go.mod for other modules)
	$(WITH_SERVER) go -C tests/clients/kcp test -mod=mod $(if $(KCP_MODFILE),-modfile=$(abspath $(KCP_MODFILE))) -count=1 -timeout 5m ./...

federation: tools test-tools server ## Place objects in a real kube-apiserver, and remove them again
	TOOLS=$(TOOLS) CONTROLLERS=namespace-controller tests/peers/with.sh tests/peers/kube.sh sh -c 'CELL=$$KUBECONFIG HANSE=$(HANSE) \
		exec tests/peers/with.sh "$(HANSE) serve --listen 127.0.0.1:0 --data-dir" tests/federation/cell.sh'

aggregation-front: tools test-tools server $(TOOLS)/sample-apiserver ## Run Kubernetes' sample-apiserver behind the server
	$(WITH_SERVER) env TOOLS=$(TOOLS) tests/aggregation-front/sample.sh

aggregation: tools test-tools server ## Run the server behind a real kube-apiserver
	TOOLS=$(TOOLS) CONTROLLERS=namespace-controller tests/peers/with.sh tests/aggregation/host.sh env HANSE=$(HANSE) TOOLS=$(TOOLS) \
		tests/aggregation/behind.sh

newcomer: $(TOOLS)/kubectl build-tools server ## Run the commands that `hanse dev` prints, and every example
	TOOLS=$(TOOLS) HANSE=$(HANSE) python3 tests/newcomer/newcomer.py

docs-test: $(TOOLS)/kubectl $(TOOLS)/etcd test-tools server $(PYTHON) ## Run every command of the book and the examples, and compare the output (PAGE=quickstart)
	TOOLS=$(TOOLS) HANSE=$(HANSE) $(PYTHON) tests/newcomer/docs.py $(PAGE)

book: $(MDBOOK) ## Build the book as HTML, in target/book/html
	rm -rf $(BOOK) && mkdir -p $(BOOK) && cp -r docs $(BOOK)/source
	RUST_LOG=warn target/tools/bin/mdbook-mermaid install $(BOOK)/source
	PATH=$(TOOLS):$$PATH mdbook build $(BOOK)/source --dest-dir $(abspath $(BOOK))/html
	@echo "the book is in $(BOOK)/html/index.html"

docs-reference: build-tools ## Update the reference in the book from the definitions of our kinds and the help of the commands
	DOCS_REFERENCE=write $(CARGO) test --workspace $(FEATURES) --test all docs::the_reference

deploy-test: $(addprefix $(TOOLS)/,kubectl kube-apiserver etcd) test-tools server ## Check the Helm chart and the kustomization with a real kube-apiserver, and their flags with the server
	TOOLS=$(TOOLS) tests/peers/with.sh tests/peers/kube.sh env HANSE=$(HANSE) TOOLS=$(TOOLS) tests/deploy/deploy.sh

federation-three: tools test-tools server ## Place objects in three real kube-apiservers from a server that is killed repeatedly (RACES=1000 KILLS=5)
	TOOLS=$(TOOLS) HANSE=$(HANSE) tests/federation/cells.sh tests/federation/three.sh

federation-datum: tools test-tools server ## Run a platform of projects and cities on three real kube-apiservers (RACES=1000)
	TOOLS=$(TOOLS) HANSE=$(HANSE) tests/federation/cells.sh tests/federation/datum.sh

federation-join: tools test-tools server ## Join three real kube-apiservers, kill one, reach them through the server, and remove them
	TOOLS=$(TOOLS) HANSE=$(HANSE) tests/federation/cells.sh tests/federation/join.sh

federation-karmada: tools test-tools server ## Tell the same stories to a Karmada that runs and to Hanse, and compare (KARMADA=HUB,MEMBER1,MEMBER2,MEMBER3 kubeconfigs, STORIES=...)
	PLAIN=1 TOOLS=$(TOOLS) HANSE=$(HANSE) KARMADA=$(KARMADA) tests/federation/cells.sh tests/federation/beside.sh $(STORIES)

simulation: build-tools ## Simulate the federation with failing cells, for 1000 seeds (SEEDS=1000)
	SIMULATION_SEEDS=$(SEEDS) $(CARGO) test --release --workspace $(FEATURES) --test all simulation::seeds -- --nocapture

conformance: tools test-tools $(SUITE) server ## Run Kubernetes' conformance tests (TIER=a PROCS=6; SERVER=... or KUBECONFIG=...)
	go -C tests/conformance build -o $(TOOLS)/conformance .
	$(WITH_SERVER) $(TOOLS)/conformance -names tests/conformance/tier-$(TIER).txt -skip tests/conformance/skip.txt -procs $(PROCS) -tools $(TOOLS) \
		-report $(CURDIR)/target/conformance $(if $(filter a,$(TIER)),-bare)

differential: tools test-tools server ## Send the same requests to Hanse and a real kube-apiserver, and compare the answers (TOPIC=apply,watches)
	go -C tests/differential build -trimpath -o $(TOOLS)/differential .
	TOOLS=$(TOOLS) CONTROLLERS=$(UPKEEP) tests/peers/with.sh tests/peers/kube.sh sh -c 'exec tests/peers/with.sh "$(SERVER)" \
		$(TOOLS)/differential -kube "$$KUBECONFIG" -folder tests/differential -topic "$(TOPIC)"'

check: build-tools $(DENY) ## Check formatting, lints, dependencies and the architecture
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(FEATURES) -- -D warnings
	$(DENY) --workspace check bans licenses sources
	$(CARGO) test --workspace $(FEATURES) --test all architecture

fmt: ## Format everything
	$(CARGO) fmt --all

generate: need-go ## Generate the table of built-in kinds and the test vectors from Kubernetes' Go modules (needs Go)
	cd openapi/generate && go run . write
	cd openapi/generate && go run ./documents > ../tests/go/documents.txt
	cd openapi/generate/defaults && go run . write
	cd openapi/generate/validation && go run . cases ../../src/validation/vectors.txt
	cd openapi/generate/validation && go run ./structural ../../tests/go
	cd apiserver/generate/print && go run .
	cd apiserver/generate/apply && go run .
	cd apiserver/generate/hooks && go run .
	cd apiserver/generate/rules && go run .
	cd apiserver/generate/policies && go run .
	cd apiserver/generate/authorize && go run .
	cd expression/generate && go run .

# A measurement that misses its aim may fail once it has said so: the table says it, too.
bench: tools test-tools bench-build ## Measure everything in ten minutes, and write the tables and plots of bench/README.md
	rm -rf $(MEASURED) && mkdir -p $(MEASURED)
	for each in storage api extend auth isolation workspaces federation; do \
		TOOLS=$(TOOLS) $(RELEASE)/bench-$$each --quick --json=$(MEASURED)/$$each.json || [ -e $(MEASURED)/$$each.json ] || exit 1; \
	done
	$(RELEASE)/bench-report $(MEASURED) bench/README.md --when=$$(date +%F)

bench-storage: test-tools bench-build ## Measure the store against a real etcd; BENCH=--quick for a first look, BENCH=--peers=log,fjall,sled,etcd for all engines
	$(RELEASE)/bench-storage $(BENCH)

bench-api: tools test-tools bench-build ## Measure the server against a real kube-apiserver and etcd; BENCH=--quick for a first look
	TOOLS=$(TOOLS) $(RELEASE)/bench-api $(BENCH)

bench-extend: tools test-tools bench-build ## Measure custom resources and apply against a real kube-apiserver; BENCH=--quick for a first look
	TOOLS=$(TOOLS) $(RELEASE)/bench-extend $(BENCH)

bench-auth: bench-build ## Measure the cost of authentication and authorization; BENCH=--quick for a first look
	$(RELEASE)/bench-auth $(BENCH)

bench-isolation: bench-build ## Measure how much a flood in one workspace slows down another, and fail if it is too much; BENCH=--quick for a first look
	$(RELEASE)/bench-isolation $(BENCH)

bench-workspaces: bench-build ## Measure the cost of up to 100,000 workspaces; BENCH=--quick for a first look, BENCH=--numbers=10000,100000,1000,1000 for others
	$(RELEASE)/bench-workspaces $(BENCH)

bench-federation: tools test-tools bench-build ## Measure how fast objects reach cells and statuses come back; BENCH=--quick for a first look
	TOOLS=$(TOOLS) $(RELEASE)/bench-federation $(BENCH)

# As for `make run`, so that dependencies are built once: each alone would want them with other features.
bench-build: build-tools
	$(CARGO) build --release --workspace $(FEATURES)

measure: build-tools ## Print the sizes of files and functions, and the share of tests
	@$(CARGO) test --quiet --workspace $(FEATURES) --test all architecture::sizes -- --nocapture

build-tools: ## Install what building needs, from Debian packages
	$(call get,$(BUILD_TOOLS))

test-tools: build-tools ## Install what testing needs as well
	$(call get,$(TEST_TOOLS))

tools: $(KUBE) $(TOOLS)/etcd ## Build the Kubernetes programs that tests need, in target/tools/bin (needs Go)

$(PYTHON):
	python3 -m venv $(PYTHON_DIR)
	$(PYTHON) -m pip install --quiet $(PYTHON_CLIENT) $(PYTHON_TERMINAL)

# An etcd of its own: with one older than 3.4.31 a kube-apiserver switches off what clients expect of it by now.
$(TOOLS)/etcd: tests/peers/go.mod tests/peers/go.sum | need-go
	go -C tests/peers build -trimpath -ldflags "-s -w" -o $@ go.etcd.io/etcd/server/v3
	touch $@

# Each for itself: whoever needs kubectl alone does not wait for the others.
$(KUBE): tests/peers/go.mod tests/peers/go.sum | need-go
	go -C tests/peers build $(GO_BUILD_FLAGS) -o $@ k8s.io/kubernetes/cmd/$(notdir $@)
	touch $@

$(TOOLS)/sample-apiserver: tests/peers/go.mod tests/peers/go.sum | need-go
	go -C tests/peers build $(GO_BUILD_FLAGS) -o $(TOOLS)/ k8s.io/sample-apiserver
	touch $@

$(SUITE) &: tests/peers/go.mod tests/peers/go.sum | need-go
	go -C tests/peers build -trimpath -o $(TOOLS)/ github.com/onsi/ginkgo/v2/ginkgo
	go -C tests/peers test -c $(GO_BUILD_FLAGS) -o $(TOOLS)/e2e.test k8s.io/kubernetes/test/e2e
	touch $(SUITE)

need-go:
	@command -v go >/dev/null || { echo "go is missing: real Kubernetes programs and clients are built with it" >&2; exit 1; }

server: build-tools
	$(if $(findstring $(HANSE),$(SERVER)),$(CARGO) build --workspace --bin hanse $(FEATURES))

# Unoptimised: it runs for a second; building it is what costs.
$(DENY):
	$(CARGO) install cargo-deny --version $(DENY_VERSION) --locked --debug --root target/tools

# Unoptimised, too: a book is made in seconds.
$(MDBOOK) &:
	$(CARGO) install $(MDBOOK_VERSIONS) --locked --debug --root target/tools
	touch $(MDBOOK)

# Installs the packages of whatever is missing, and fails with the name of any that is missing then.
define get
@as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; packages=; \
there() { command -v "$$1" >/dev/null || [ -e "$$1" ]; }; \
for pair in $(1); do there "$${pair%%:*}" || packages="$$packages $${pair#*:}"; done; \
if [ -n "$$packages" ]; then \
	echo "getting:$$packages"; \
	$$as_root apt-get update && \
	$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends $$packages; \
fi; \
for pair in $(1); do \
	there "$${pair%%:*}" || \
		{ echo "$${pair%%:*} is missing, and the package $${pair#*:} could not be installed" >&2; exit 1; }; \
done
endef
