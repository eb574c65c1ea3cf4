# Two commands matter: `make run` starts the monitor, `make test` proves it.
# Everything installed is a Debian or Ubuntu package, named here and printed before it is installed.

SHELL := /bin/bash
SWIFT ?= swift
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
ARGS ?=
PREFIX ?= /usr/local
DESTDIR ?=
# What install copies.
BUILT ?= .build/release/tidegate
# How long a soak lasts, and the seed of its faults; without one it is random and printed.
SOAK ?= 20m
SEED ?=
# For how many seconds each parser is fuzzed.
FUZZ ?= 300
# Where packages go.
PACKAGES ?= .build/packages
STAGE = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' packaging/stage
# With more tests at a time each takes longer, and none ends earlier; end-to-end tests run beside the others.
TESTS_AT_A_TIME ?= 6
# The tests run with every check for overlapping access; in a release that check alone is a fifteenth of a small request.
RELEASE := --configuration release --static-swift-stdlib --disable-local-rpath -Xswiftc -enforce-exclusivity=unchecked

BUILD_PACKAGES := binutils dpkg-dev libcrypt-dev libcurl4-openssl-dev libidn2-dev libldns-dev libnl-3-dev libnl-route-3-dev \
  libpsl-dev libre2-dev libsnappy-dev libsqlite3-dev libssl-dev pkg-config python3 zlib1g-dev
TEST_PACKAGES := chromium chromium-driver conntrack curl debootstrap dnsmasq-base fish iproute2 lintian make man-db nftables nginx-light \
  openssl prometheus prometheus-alertmanager prometheus-blackbox-exporter python3-jsonschema python3-prometheus-client python3-seccomp systemd \
  wireguard-go wireguard-tools zsh
EXAM_PACKAGES := conntrack iproute2 nftables openssl wireguard-go wireguard-tools
SOAK_PACKAGES := gcc iproute2 nftables openssl python3
BENCH_PACKAGES := aria2 gcc binutils mtr-tiny prometheus-blackbox-exporter valgrind wrk

# The commit that metrics name (tidegate_build_info); a build that git knows nothing of says "unknown".
export TIDEGATE_REVISION ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || \
  { git rev-parse HEAD >/dev/null 2>&1 && echo -dirty; })

.PHONY: run build install uninstall deb test-deb release test exam client lint format bench soak fuzz sanitize setup setup-test setup-bench \
  setup-soak setup-exam check-swift

run: build ## build a release and start the monitor with the built-in defaults
	.build/release/tidegate serve $(ARGS)

build: setup ## build a release; the Swift runtime is inside, so the binary runs where no Swift is
	$(SWIFT) build $(RELEASE) --product tidegate

install: ## install tidegate, its unit, manual, completions and dashboards below PREFIX (/usr/local) and DESTDIR
	@# Built before, as a user: root may not have a Swift toolchain.
	[ -x $(BUILT) ] || $(MAKE) build
	$(STAGE) install $(BUILT)

uninstall: ## remove what install has put there
	$(STAGE) remove

deb: build ## build the Debian package and the package of its debug symbols: .build/packages
	SWIFT='$(SWIFT)' packaging/deb $(BUILT) $(PACKAGES)

test-deb: setup-test deb ## install, upgrade, remove and purge the package in a root of this release
	@# Root may have another PATH, and git refuses it the files of others.
	$(SUDO) env SWIFT="$$(command -v $(SWIFT))" SOURCE_DATE_EPOCH="$$(packaging/epoch)" packaging/test $(BUILT) $(PACKAGES)

release: build ## write packages, archive, bill of materials, notes and checksums of the tagged commit: .build/packages
	packaging/check-release $(BUILT)
	SWIFT='$(SWIFT)' packaging/release $(BUILT) $(PACKAGES)

test: setup-test ## run every check: style, house rules, pure, kernel, wire, end to end, the exam, peers
	$(MAKE) lint
	$(SWIFT) build --build-tests
	SWIFT='$(SWIFT)' TESTS_AT_A_TIME=$(TESTS_AT_A_TIME) Tests/run $(ARGS)
	$(MAKE) client

exam: setup-exam build ## mark explain and a sidecar in every broken network: docs/accuracy.md; ARGS='-n 8' for more at a time
	$(SUDO) env TIDEGATE='$(BUILT)' TIDEGATE_REVISION='$(TIDEGATE_REVISION)' Tests/Exam/exam.py --record $(ARGS)

client: setup ## build and run an app that sees only the public products, as others write it
	$(SWIFT) build --package-path Tests/ClientPackage --scratch-path .build
	@# The build's plan is the client's now: with it the next build of this package would not see new files.
	@rm -f .build/debug.yaml
	.build/debug/Client

lint: check-swift ## fail where a file is not formatted or breaks a style rule
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests

format: check-swift ## format every file in place
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests

bench: setup-test setup-bench build ## measure beside the peers and print ratios
	$(SWIFT) build $(RELEASE) --product TidegateBench
	Tests/Benchmarks/run $(ARGS)

soak: setup-soak build ## run a release under load and random faults for SOAK (20m), and check every promise: .build/soak
	$(SUDO) Tests/Soak/run --time $(SOAK) $(if $(SEED),--seed $(SEED)) --tidegate $(BUILT)

fuzz: setup ## look FUZZ (300) seconds for inputs that crash each parser: .build/fuzz
	SWIFT='$(SWIFT)' Tests/Fuzz/run $(FUZZ) $(ARGS)

sanitize: setup-test ## run the tests under the thread and then the address sanitizer; ARGS='--filter Session' for some
	SWIFT='$(SWIFT)' Tests/Sanitizers/run thread $(ARGS)
	SWIFT='$(SWIFT)' Tests/Sanitizers/run address $(ARGS)

setup: check-swift
	@$(call install,$(BUILD_PACKAGES))

setup-test: setup
	@$(call install,$(TEST_PACKAGES))

setup-bench:
	@$(call install,$(BENCH_PACKAGES))

setup-soak:
	@$(call install,$(SOAK_PACKAGES))

setup-exam:
	@$(call install,$(EXAM_PACKAGES))

check-swift:
	@command -v $(SWIFT) > /dev/null || { \
	  echo "Swift 6.2 or later is missing: install it from https://www.swift.org/install/linux" >&2; exit 1; }

# Says what is missing, installs it, and fails with the package manager's own words where that is not possible.
# Services that a package starts are stopped from starting: nothing may listen because of a test.
define install
missing=$$(dpkg-query --show --showformat='$${Package} $${db:Status-Status}\n' $(1) 2>/dev/null \
  | awk '$$2 == "installed" {print $$1}' | sort | comm -13 - <(printf '%s\n' $(1) | sort)); \
if [ -n "$$missing" ]; then \
  echo "Installing with apt-get: $$(echo $$missing)"; \
  policy=/usr/sbin/policy-rc.d; made=; \
  [ -e $$policy ] || { printf '#!/bin/sh\nexit 101\n' | $(SUDO) tee $$policy > /dev/null; $(SUDO) chmod +x $$policy; made=yes; }; \
  $(SUDO) apt-get update --quiet --quiet && \
    $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends $$missing > /dev/null; \
  status=$$?; [ -z "$$made" ] || $(SUDO) rm -f $$policy; exit $$status; \
fi
endef
