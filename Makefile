# skill-mcp: `make run` shows the product at work, `make test` is the gate.
# Both install what they need by package name and use nothing else from outside.

SHELL      := /bin/bash
GO         ?= go
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# -trimpath and an empty build id: two builds of one commit are equal byte for byte.
LDFLAGS    := -s -w -buildid= -X skill-mcp/internal/config.Version=$(VERSION)
BUILD      := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)'
RUN        := CGO_ENABLED=0 $(GO) run -trimpath -ldflags '$(LDFLAGS)'
BINARIES   := skill-mcp skill-exec skill-egress
# Nothing is stamped from git, which refuses a checkout that another user owns,
# as containers mount them: VERSION says what is built.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS 2>/dev/null) -buildvcs=false)
FUZZTIME   ?= 30s
ROUNDS     ?= 60
SKILLS     ?=
CASES      ?= $(wildcard ../shared/cases)

.PHONY: all build run test unit cases lint vulns cross tools package release fuzz bench chaos soak mutants clean

all: build

build:
	@command -v $(GO) >/dev/null || { echo "build: there is no $(GO) on the PATH: install Go 1.26, or name the program with GO=PROGRAM" >&2; exit 1; }
	@mkdir -p bin 2>/dev/null; test -w bin || { echo "build: $(CURDIR)/bin cannot be written by this user: build in a checkout of your own" >&2; exit 1; }
	@$(BUILD) -o bin/ $(BINARIES:%=./cmd/%)

# A real MCP exchange with the built binaries: list, load, read, preview, confirm, run.
# Built with the same flags, so that no package is compiled a second time.
run: build
	@$(RUN) ./test/demo -server bin/skill-mcp $(if $(SKILLS),-skills '$(SKILLS)')

# What the suites need, by package name and pinned; a second call costs nothing.
tools:
	@test/install

lint:
	@test -z "$$(gofmt -l cmd internal packaging policy test *.go)" || { gofmt -l cmd internal packaging policy test *.go; echo "run gofmt -w on these"; exit 1; }
	$(GO) mod verify
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Known vulnerabilities in what is reached; a database out of reach is said, not fatal.
vulns:
	@test/vulns

cross:
	GOOS=darwin $(GO) build -o /dev/null ./cmd/skill-mcp && GOOS=darwin $(GO) build -o /dev/null ./cmd/skill-exec
	GOOS=windows $(GO) build -o /dev/null ./cmd/skill-mcp && GOOS=windows $(GO) build -o /dev/null ./cmd/skill-exec

# Packages whose tests start runs, fill limits and measure time have the machine
# to themselves, one after another; the rest share it.
ALONE := /internal/(fence|spawn|monitor|egress|frontlock|plain|doctor|interp|uplink|tun|host|cgroup|yamlcore|catalog|archive|pack)(/|$$)|/test/

unit: build
	@export SKILL_MCP_REQUIRE_FENCE=1 SKILL_MCP_REQUIRE_NODE=1; set -e; \
	$(GO) test -timeout 10m $$($(GO) list ./... | grep -vE '$(ALONE)'); \
	$(GO) test -timeout 15m -p 1 $$($(GO) list ./... | grep -E '$(ALONE)' | grep -v /test/packages)

cases: build
	@if [ -z "$(CASES)" ]; then echo "cases: no folder of cases here (CASES=DIR names one)"; else test/run-cases $(CASES); fi

# Every package of this platform, made, installed and used for a confirmed run.
package:
	SKILL_MCP_REQUIRE_FENCE=1 SKILL_MCP_REQUIRE_NODE=1 $(GO) test -count 1 -timeout 15m ./test/packages

# Everything that is published, for every platform, into dist/.
release: tools
	$(GO) run ./packaging/release -out dist

test: tools build lint vulns cross cases unit package chaos

# Each fuzz target for FUZZTIME; their corpus runs in `make test`.
fuzz:
	@for p in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz); do \
	  echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

# SOAK of everything at once by the built programs: clients over stdio and HTTP,
# reloads, kills, full disks, no descriptors, no memory; `make soak SOAK=1h`.
SOAK       ?= 60s
chaos: build
	$(GO) run ./test/soak -bin bin -for $(SOAK)

# The same, and servers side by side with random kills of script, child, init,
# monitor and front: SOAK_RUNS of each of eight, as root and as an ordinary user.
# Then a hundred runs that use up their memory, each with its one right verdict.
SOAK_RUNS  ?= 250
soak: chaos
	SKILL_MCP_REQUIRE_FENCE=1 SKILL_MCP_SOAK=$(SOAK_RUNS) $(GO) test -count 1 -timeout 4h -run 'TestServersUnderRandomKills' -v ./internal/monitor
	SKILL_MCP_REQUIRE_FENCE=1 SKILL_MCP_OOM=100 $(GO) test -count 1 -timeout 1h -run 'TestMemoryVerdictsAreRight' -v ./test/escape

# Seeded faults, each of which the tests named beside it must see (docs/testing.md).
mutants:
	$(GO) run ./test/mutants -only '$(ONLY)'

bench: build
	$(GO) run ./test/bench

# docs/performance.md and its plots; `make tools` brings what is compared with.
performance: build
	$(GO) run ./test/bench -doc -n $(ROUNDS)

clean:
	rm -rf bin dist
