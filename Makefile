# Two commands for a new machine:
#   make run            a page through the seal (URL=https://… for any page)
#   make test           everything that must hold
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

export URL
export CGO_ENABLED ?= 0

.PHONY: run build setup test lint generate bench bench-act bench-peers bench-egress fuzz soak clean FORCE

run: setup
	@if [ -n "$$URL" ]; then bin/bellglass browse "$$URL"; else bin/bellglass demo; fi

build: bin/bellglass
bin/bellglass: FORCE
	@mkdir -p bin
	@go build -trimpath -o bin/bellglass ./cmd/bellglass

setup: build
	@scripts/setup.sh

# The race detector needs cgo. The benchmarks run once, so that none rots.
test: build
	@scripts/setup.sh --test
	$(MAKE) --no-print-directory lint
	CGO_ENABLED=1 go test -race -timeout 20m ./...
	go test -run '^$$' -bench . -benchtime 1x ./...
	$(MAKE) --no-print-directory bench-act BENCH_ACT='-rounds 1 -think 0'
	$(MAKE) --no-print-directory bench-peers BENCH_PEERS_FLAGS='-rounds 1 -reads 1 -think 0 -for 40s'
	$(MAKE) --no-print-directory bench-egress BENCH_EGRESS='-rounds 1 -setups 20 -mib 16 -idle 50'

lint: generate
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt -w $$(gofmt -l $$(git ls-files '*.go'))"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

# Generated documents must be what the code says.
generate:
	go generate ./...
	@git diff --exit-code -- docs || { echo "commit the generated documents above"; exit 1; }

# Latency beside the floor, in one run; see docs/performance.md.
bench: setup
	go test -run '^$$' -bench . -benchtime 50x -timeout 30m ./bench

# Acting on pages, in time and tokens, beside Playwright MCP,
# chrome-devtools-mcp and agent-browser where BENCH_PEERS names the folder in
# which npm has installed them; the program says how. It is a module of its own
# because a client of MCP is nobody else's business.
export BENCH_PEERS
bench-act: setup
	cd bench/act && go vet ./... && go run . $(BENCH_ACT)

# Reading pages beside a loop in Playwright, agent-browser, Playwright MCP and
# chrome-devtools-mcp, and how much several callers get; BENCH_PEERS as above.
bench-peers: setup
	cd bench/peers && go vet ./... ../internal/peer && go run . $(BENCH_PEERS_FLAGS)

# The egress proxy beside smokescreen, a bare relay and direct dialing, in one
# run. It is a module of its own, so that nobody else needs smokescreen.
bench-egress:
	cd bench/egress && go vet ./... && go run . $(BENCH_EGRESS)

# How well the main part of pages is found, beside other extractors, on the
# corpora in BELLGLASS_CORPORA; see docs/performance.md.
.PHONY: bench-extract
bench-extract: setup
	cd bench/extract && go run . $(BENCH_EXTRACT_FLAGS)

FUZZTIME ?= 5m
fuzz:
	@for p in $$(grep -rl '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
		done; \
	done

# Bad clients and bad servers for long; then readers and actors of good and bad
# pages, with parts of the browsers killed at random; then a minute of silence of
# the browsers. SOAKTIME is for each of the first two.
SOAKTIME ?= 10m
soak:
	BELLGLASS_SOAK=$(SOAKTIME) go test -run '^TestSoak$$' -timeout 6h -v ./egress
	BELLGLASS_SOAK=$(SOAKTIME) go test -run '^TestSoak$$' -timeout 6h -v ./internal/loadtest
	BELLGLASS_SOAK=1m go test -run '^TestIdleBrowsersAreSilent$$' -timeout 10m -v .

# Every command to a browser goes wrong in every way, with the coverage of the
# packages that must bear it. It takes some ten minutes.
.PHONY: faults
faults:
	BELLGLASS_FAULTS=all go test -timeout 2h -coverpkg ./internal/tab,./internal/chrome,./internal/pool,./internal/cdp -coverprofile bin/faults.cover ./internal/faulttest ./internal/tab ./internal/cdp ./internal/pool ./internal/chrome
	go tool cover -func bin/faults.cover | tail -1

clean:
	rm -rf bin
