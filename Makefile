# The index of what can be done here: bare `make` prints it.

CARGO ?= cargo
# Where `make run` keeps its data.
DATA_DIR ?= hanse-data
# How often `make test-powercut` cuts the power of each engine.
POWER_CUTS ?= 20
# Programs and files that are needed, each with the Debian package that brings it.
BUILD_TOOLS := cc:build-essential protoc:protobuf-compiler \
	/usr/include/google/protobuf/descriptor.proto:libprotobuf-dev
TEST_TOOLS := etcd:etcd-server openssl:openssl mkfs.ext4:e2fsprogs mount:mount losetup:mount
# The same features everywhere, so that what was built once is used again.
FEATURES := --all-features
DENY := target/tools/bin/cargo-deny
DENY_VERSION := 0.20.2

# mkfs and losetup are not on everybody's path.
export PATH := $(PATH):/usr/sbin:/sbin
.DEFAULT_GOAL := help
.PHONY: help run build test test-powercut check fmt generate bench bench-storage measure build-tools test-tools

help: ## Print this index
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build-tools ## Run the server on a store in ./hanse-data (or DATA_DIR=...)
	$(CARGO) run --release $(FEATURES) -- serve --data-dir $(DATA_DIR)

build: build-tools ## Build the release binary, target/release/hanse
	$(CARGO) build --release $(FEATURES)

test: test-tools ## Run every test
	$(CARGO) test --workspace $(FEATURES)

test-powercut: test-tools ## Cut the power of a running store, 20 times for each engine (POWER_CUTS=...)
	DURABILITY_POWER_CUTS=$(POWER_CUTS) $(CARGO) test --package storage $(FEATURES) --test durability -- \
		powercut --nocapture --test-threads=1

check: build-tools $(DENY) ## Check form, lints, dependencies and the rules of the house
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(FEATURES) -- -D warnings
	$(DENY) --workspace check bans licenses sources
	$(CARGO) test --workspace $(FEATURES) --test all architecture

fmt: ## Format everything
	$(CARGO) fmt --all

generate: ## Write the table of built-in kinds, and what tests compare with, from the Go modules that define them (needs Go)
	@command -v go >/dev/null || { echo "go is missing: generating needs it" >&2; exit 1; }
	cd openapi/generate && go run . write
	cd openapi/generate && go run ./documents > ../tests/go/documents.txt
	cd openapi/generate/defaults && go run . write
	cd openapi/generate/validation && go run . cases ../../src/validation/vectors.txt
	cd apiserver/generate/print && go run .
	cd apiserver/generate/apply && go run .

bench: bench-storage ## Measure everything that can be measured

bench-storage: test-tools ## Measure the store against a real etcd; BENCH=--quick for a first look
	$(CARGO) run --release --package bench --bin bench-storage -- $(BENCH)

measure: build-tools ## Print how large files and functions are, and how much of it is tests
	@$(CARGO) test --quiet --workspace $(FEATURES) --test all architecture::sizes -- --nocapture

build-tools: ## Get what building needs, from Debian packages
	$(call get,$(BUILD_TOOLS))

test-tools: build-tools ## Get what testing needs besides
	$(call get,$(TEST_TOOLS))

# Unoptimised: it runs for a second; building it is what costs.
$(DENY):
	$(CARGO) install cargo-deny --version $(DENY_VERSION) --locked --debug --root target/tools

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
