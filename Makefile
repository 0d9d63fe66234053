# Everything a contributor does has a target here; `make help` lists them.
# Nothing is installed on the machine: developer tools are pinned in
# tools/go.mod and run through `go tool`.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOL     := $(GO) tool -modfile=tools/go.mod
PEERS    := testdata/interop
FUZZTIME ?= 30s
SOAKTIME ?= 10m
COUNT    ?= 6
# Packages of a benchmark or fuzz run; make bench PKG=./pkg/client
PKG      ?= ./...

# Run by version, outside the module graph: too large to be pinned in
# tools/go.mod. The hosted workflow uses the same targets.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK   := golang.org/x/vuln/cmd/govulncheck@v1.9.0
# 2.18 wants a newer Go than this module does.
GORELEASER    := github.com/goreleaser/goreleaser/v2@v2.17.0

# $(call step,name,command) says what runs and what it took.
step = @echo "== $(1)"; start=$$SECONDS; { $(2); } || { echo "make: $(1) failed" >&2; exit 1; }; echo "-- $(1): $$((SECONDS - start)) s"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/mcpctl
	$(GO) build -trimpath -o bin/ ./cmd/mcpctl

.PHONY: test
test: ## go test ./... (peers from npm are skipped where not installed)
	$(GO) test ./...

# The gate. Cheap steps first; each one also stands alone.
.PHONY: check
check: need check-format check-vet check-fix check-staticcheck check-tidy check-imports check-examples check-cross check-race check-test ## the full gate, as CI runs it
	@echo "check: all steps passed"

.NOTPARALLEL:

.PHONY: need
need:
	@ok=1; miss() { echo "check: $$1" >&2; ok=0; }; \
	command -v $(GO) >/dev/null || miss "go is missing: install Go 1.26 or newer from https://go.dev/dl"; \
	command -v git >/dev/null || miss "git is missing: apt-get install git"; \
	command -v "$${CC:-cc}" >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
		miss "a C compiler is missing, go test -race links with it: apt-get install gcc libc6-dev"; \
	if [ ! -f $(PEERS)/node_modules/.package-lock.json ]; then \
		miss "the npm peers and their Node.js are missing: run make peers"; \
		command -v npm >/dev/null || miss "npm is missing, make peers needs it: apt-get install npm, or https://nodejs.org"; \
	elif [ $(PEERS)/package-lock.json -nt $(PEERS)/node_modules/.package-lock.json ]; then \
		miss "the npm peers are older than their lock file: run make peers"; \
	fi; \
	[ $$ok = 1 ]

.PHONY: check-format
check-format:
	$(call step,gofumpt,out=$$($(TOOL) gofumpt -l .); [ -z "$$out" ] || { printf 'not formatted: run make fmt\n%s\n' "$$out"; false; })

.PHONY: check-vet
check-vet:
	$(call step,go vet,$(GO) vet ./...)

.PHONY: check-fix
check-fix:
	$(call step,go fix,$(GO) fix -diff ./...)

.PHONY: check-staticcheck
check-staticcheck:
	$(call step,staticcheck,$(TOOL) staticcheck ./...)

.PHONY: check-tidy
check-tidy:
	$(call step,go mod tidy,$(GO) mod tidy -diff && $(GO) -C tools mod tidy -diff)

.PHONY: check-imports
check-imports:
	$(call step,who imports whom,$(GO) test ./internal/archtest)

# The README's first command, without writing: what is committed is what the
# program makes.
.PHONY: check-examples
check-examples:
	$(call step,examples,$(GO) run ./cmd/mcpctl generate --check examples/weather/mcp.json && $(GO) run ./cmd/mcpctl diff --fail-on any examples/contracts/catalogue.json examples/contracts/mcp.json)

# Compiles the product and type-checks its tests for the systems that this
# machine is not.
.PHONY: check-cross
check-cross:
	$(call step,windows,export GOOS=windows GOARCH=amd64 CGO_ENABLED=0; $(GO) build ./... && $(GO) vet ./...)
	$(call step,darwin,export GOOS=darwin GOARCH=arm64 CGO_ENABLED=0; $(GO) build ./... && $(GO) vet ./...)

# Short: what only repeats under the race detector what the plain run does
# (peers from npm, builds of generated code) stands aside.
# Without the variable every program that ends under the detector first sleeps
# for a second.
.PHONY: check-race
check-race:
	$(call step,go test -race,GORACE=atexit_sleep_ms=0 $(GO) test -race -short ./...)

.PHONY: check-test
check-test:
	$(call step,go test,MCPCTL_REQUIRE_INTEROP=1 $(GO) test ./...)

.PHONY: fmt
fmt: ## format all Go files
	$(TOOL) gofumpt -w .

.PHONY: lint
lint: check-format check-vet check-fix check-staticcheck check-tidy ## the static part of the gate

.PHONY: lint-full
lint-full: ## golangci-lint (a cold build takes minutes)
	$(GO) run $(GOLANGCI_LINT) run ./...

.PHONY: vuln
vuln: ## known vulnerabilities in what the program calls
	$(GO) run $(GOVULNCHECK) ./...

.PHONY: deadcode
deadcode: ## functions that nothing reaches, tests included
	$(TOOL) deadcode -test ./...

# Warnings would be about the Node.js that runs npm, which is not the one that
# runs what is installed.
.PHONY: peers
peers: ## install the pinned npm servers, the conformance suite and their Node.js
	@if [ $(PEERS)/node_modules/.package-lock.json -nt $(PEERS)/package-lock.json ]; then \
		echo "npm peers: up to date"; \
	else \
		command -v npm >/dev/null || { echo "npm is missing: apt-get install npm, or https://nodejs.org" >&2; exit 1; }; \
		cd $(PEERS) && npm ci --ignore-scripts --no-audit --no-fund --loglevel error; \
	fi

.PHONY: interop
interop: ## test against the npm servers
	MCPCTL_REQUIRE_INTEROP=1 $(GO) test -count=1 -v ./internal/interop

# check-test runs it too.
.PHONY: conformance
conformance: ## the official conformance suite against the client
	MCPCTL_REQUIRE_INTEROP=1 $(GO) test -count=1 -run '^TestConformance' -v ./internal/interop

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (30s)
	@for pkg in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(PKG)); do \
		for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
		done; \
	done

.PHONY: soak
soak: ## connect, list and close against the npm servers for SOAKTIME (10m)
	MCPCTL_REQUIRE_INTEROP=1 MCPCTL_SOAK=$(SOAKTIME) $(GO) test -run '^TestSoak' -count=1 -timeout 0 -v ./internal/interop

.PHONY: bench
bench: ## benchmarks COUNT (6) times into bin/bench.txt; with BASE=FILE compared with that
	@mkdir -p bin
	$(GO) test -run '^$$' -bench . -benchmem -count $(COUNT) $(PKG) | tee bin/bench.txt
	@$(TOOL) benchstat $(if $(BASE),$(BASE)) bin/bench.txt

# Only packages whose tests know the flag: others would refuse it.
.PHONY: update
update: ## rewrite golden files and the example; read the diff before committing
	@pkgs=$$(grep -rlE --include='*_test.go' 'flag\.Bool(Var)?\(.*"update"' cmd pkg internal | xargs -r -n1 dirname | sort -u | sed 's|^|./|'); \
	[ -n "$$pkgs" ] || { echo "no package has golden files"; exit 0; }; \
	echo $$pkgs; $(GO) test $$pkgs -update
	@$(GO) run ./cmd/mcpctl generate examples/weather/mcp.json
	@git status --short

# A test says when they are stale; make update does it too.
.PHONY: docs
docs: ## write docs/cli anew from the commands
	$(GO) run ./cmd/mcpctl/internal/mkdocs -markdown docs/cli

# What a release carries beside the program. DATE is that of the commit, so that
# the same commit gives the same files.
DATE    ?= $(shell git log -1 --format=%cI)
VERSION ?= devel
.PHONY: assets
assets: ## manual pages and completions into bin/man and bin/completions
	$(GO) run ./cmd/mcpctl/internal/mkdocs -man bin/man -version $(VERSION) -date $(DATE)
	@mkdir -p bin/completions
	@for shell in bash zsh fish powershell; do $(GO) run ./cmd/mcpctl completion $$shell > bin/completions/mcpctl.$${shell/powershell/ps1}; done

.PHONY: release-check
release-check: ## check .goreleaser.yaml
	$(GO) run $(GORELEASER) check

.PHONY: snapshot
snapshot: ## build all release archives into dist/, publish nothing
	$(GO) run $(GORELEASER) release --snapshot --clean --skip=publish

.PHONY: release
release: ## build and publish the tagged release (hosted workflow)
	$(GO) run $(GORELEASER) release --clean

.PHONY: clean
clean: ## remove what was built; peers stay
	rm -rf bin dist
