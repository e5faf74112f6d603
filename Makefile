# Everything a developer or CI runs. `make` alone prints the targets.
#
# `make check` is exactly what CI runs. It needs Go, and a C compiler for the race detector
# (nothing that is shipped links C: builds run with CGO_ENABLED=0).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO      := CGO_ENABLED=0 go
BUILD   := $(GO) build -trimpath -buildvcs=false -ldflags "-X main.version=$(VERSION)"
TIMEOUT := 20m

# ARGS go to the server in `make run`; FUZZTIME is what each fuzz target gets. COUNT is how much `make differential` and
# `make crash` do; without it each has its own default.
ARGS     ?=
FUZZTIME ?= 20s

COMMANDS := $(notdir $(patsubst %/,%,$(dir $(wildcard cmd/*/main.go))))
BENCHES  := $(notdir $(patsubst %/,%,$(dir $(wildcard benchmark/*/main.go))))

# Where goroutines meet: these packages run under the race detector and the invariants build.
CONCURRENT := ./device/... ./tsavorite/... ./server/...

STATICCHECK_VERSION := v0.8.2
STATICCHECK := bin/tools/staticcheck-$(STATICCHECK_VERSION)

PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

.PHONY: help build run test check race invariants lint fuzz docs differential crash bench bench-compare bench-devices bench-ladder bench-durability bench-recovery bench-online bench-cold soak soak-ttl cross clean

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the server, its tools and the benchmarks into bin/
	@mkdir -p bin
	@for name in $(COMMANDS); do $(BUILD) -o bin/$$name ./cmd/$$name; echo "bin/$$name"; done
	@for name in $(BENCHES); do $(BUILD) -o bin/$$name ./benchmark/$$name; echo "bin/$$name"; done

run: build ## Build and run the server with its defaults (ARGS="--port 7000" adds options)
	./bin/pyrope-server $(ARGS)

test: ## Run every test
	$(GO) test -timeout $(TIMEOUT) ./...

check: lint test race invariants cross build ## Everything CI runs

race: ## Run the concurrent packages under the race detector (short mode)
	@command -v "$$(go env CC)" >/dev/null || { echo "cannot run the race detector: it needs a C compiler, and '$$(go env CC)' is not installed"; exit 1; }
	CGO_ENABLED=1 go test -race -short -timeout $(TIMEOUT) $(CONCURRENT)

invariants: ## Run the concurrent packages with the dear checks on (short mode)
	$(GO) test -tags invariants -short -timeout $(TIMEOUT) $(CONCURRENT)

lint: $(STATICCHECK) ## gofmt, go vet (also with the invariants tag), staticcheck, and the house rules of layout_test.go
	@unformatted=$$(gofmt -l .); if [[ -n "$$unformatted" ]]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags invariants ./...
	$(STATICCHECK) ./...
	$(GO) test -count=1 .

fuzz: ## Run every fuzz target for FUZZTIME (20s) each
	@grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for target in $$($(GO) test -list '^Fuzz' "$$dir" | grep '^Fuzz'); do \
			echo "$$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$dir" </dev/null; \
		done; \
	done

differential: ## Compare COUNT (200000) random commands of each family with redis-server, in RESP2 and RESP3 (SEED=N repeats a run)
	$(GO) test -count=1 -timeout 4h -run '^TestSame' ./server/servertest -args -seed $(or $(SEED),0) -commands $(or $(COUNT),200000)

crash: ## Kill a server under load COUNT (200) times in each of four modes, and compare all data after each start (SEED=N repeats a load)
	$(GO) test -count=1 -v -timeout 8h -run '^TestKilledServer' ./cmd/pyrope-server -args -kills $(or $(COUNT),200) -seed $(or $(SEED),0)

docs: ## Renew the tables of docs/commands.md
	$(GO) test -count=1 -run TestPageIsCurrent ./server/command -args -rewrite

bench: build ## Run the Go benchmarks (the programs in bin/ have their own options)
	$(GO) test -run '^$$' -bench . -benchmem ./...

bench-compare: ## Go benchmarks beside those of another commit, interleaved (BASE=COMMIT, BENCH=PATTERN, PACKAGE=./tsavorite)
	@BASE="$(BASE)" BENCH='$(BENCH)' PACKAGE="$(PACKAGE)" benchmark/scripts/bench-compare.sh

bench-devices: build ## Device reads beside fio, interleaved: rates, CPU a read, ratios (DATA=DIR chooses the disk)
	@benchmark/scripts/bench-devices.sh

bench-ladder: build ## The same reads by fio, the device, the engine and the server (DATA=DIR chooses the disk)
	@benchmark/scripts/ladder.sh

bench-durability: build ## The append-only file's and BGSAVE's cost under load, beside redis-server (DATA=DIR chooses the disk)
	@benchmark/scripts/bench-durability.sh

bench-recovery: build ## Restart over KEYS (2000000) keys of SIZE (1000) bytes with MEMORY=256m, beside redis-server; every value compared
	@benchmark/scripts/bench-recovery.sh

bench-online: build ## Latencies at half load, beside redis-server
	@benchmark/scripts/bench-online.sh

bench-cold: build ## GETs from disk and from LocalMemory beside GETs from memory: CPU an operation (DATA=DIR chooses the disk)
	@benchmark/scripts/bench-cold.sh

soak: ## Random operations on failing devices for SOAK (1h), then under the race detector for RACE_SOAK (10m)
	@benchmark/scripts/soak.sh

soak-ttl: build ## Short-lived keys for DURATION (1h): what the files and the memory do, as a table and a plot
	@benchmark/scripts/soak-ttl.sh

cross: ## Compile everything, tests too, for the other platforms
	@for platform in $(PLATFORMS); do \
		echo "$$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build ./...; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; \
	done

clean: ## Remove what was built
	rm -rf bin

$(STATICCHECK):
	@mkdir -p bin/tools
	GOBIN=$(CURDIR)/bin/tools $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv bin/tools/staticcheck $@
