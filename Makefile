# Every target installs what it misses (tools/setup) and says what it does.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run test build bench real e2e rows journeys nightly asan tsan fuzz lint format schema clean

help:  ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

run: build  ## Build Berth and start a cluster with simulated nodes, its workloads live in the terminal
	@build/berth up --demo --port 0

test:  ## Configure, build and run every test that needs no real cluster
	@tools/setup build
	@echo "Building (preset dev) ..."
	@mkdir -p build; cmake --preset dev > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset dev
	@ctest --test-dir build/dev -L quick -j2 --output-on-failure

build:  ## Build the optimised binary at build/berth
	@tools/setup build
	@echo "Building (preset release) ..."
	@mkdir -p build; cmake --preset release > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset release --target berth
	@ln -sf release/src/cli/berth build/berth
	@echo "build/berth is ready"

bench:  ## Measure, side by side with client-go where Go is present
	@tools/setup build
	@bench/run

real:  ## Build kube-apiserver, etcd, kubectl, kube-scheduler, kube-controller-manager and kwok into a cache, once
	@tools/real/build

e2e:  ## Run the end-to-end tests against the real components
	@tools/setup build
	@tools/real/build
	@mkdir -p build; cmake --preset dev > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset dev
	@ctest --test-dir build/dev -L real --output-on-failure

rows:  ## Run the tests that are named after rows of the specifications, and print what holds row by row
	@tools/rows

journeys:  ## Run the web page's journeys: Debian's Chromium against a real berth up
	@tools/setup build journeys
	@mkdir -p build; cmake --preset dev > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset dev --target berth
	@ctest --test-dir build/dev -L e2e --output-on-failure

nightly: e2e  ## Run the large counts too
	@tools/setup clients
	@tools/clients/install > build/.clients.log 2>&1 || { cat build/.clients.log; exit 1; }
	@ctest --test-dir build/dev -L nightly -E '^(slots|grants)_nightly$$' --output-on-failure
	@cmake --preset nightly > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset nightly --target controller_stories_test gateway_stories_test
	@ctest --test-dir build/nightly -R '^(slots|grants)_nightly$$' --output-on-failure

# FOLDERS="base json" looks at those alone.
asan:  ## Run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup build
	@mkdir -p build; cmake --preset asan > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
ifdef FOLDERS
	@cmake --build --preset asan --target $(foreach folder,$(FOLDERS),$(subst /,_,$(folder))_test)
	@for folder in $(FOLDERS); do ctest --test-dir build/asan/src/$$folder -L quick -j2 --output-on-failure || exit 1; done
else
	@cmake --build --preset asan
	@ctest --test-dir build/asan -L quick -j2 --output-on-failure
endif

tsan:  ## Run what is threaded under ThreadSanitizer
	@tools/setup build
	@mkdir -p build; cmake --preset tsan > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset tsan --target base_test net_test client_test store_process_test
	@for folder in src/base src/net src/client tests/store; do ctest --test-dir build/tsan/$$folder -L quick -j2 --output-on-failure || exit 1; done

FUZZ_SECONDS ?= 60
FUZZ_WHOLE ?= ON
fuzz:  ## Search for inputs that break a parser, FUZZ_SECONDS (60) for each target
	@tools/setup build fuzz
	@mkdir -p build; cmake --preset fuzz -DBERTH_FUZZ_SECONDS=$(FUZZ_SECONDS) -DBERTH_FUZZ_WHOLE=$(FUZZ_WHOLE) > build/.configure.log 2>&1 || { cat build/.configure.log; exit 1; }
	@cmake --build --preset fuzz --target fuzzers
	@ctest --test-dir build/fuzz -L fuzz -j2 --output-on-failure

lint:  ## Check formatting and run clang-tidy
	@tools/setup build lint
	@LINT=$(LINT) tools/lint

format:  ## Format the sources
	@tools/setup lint
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

schema:  ## Generate the tables of the built-in kinds again from the Kubernetes API types
	@tools/schema/generate

clean:  ## Remove everything that was built
	@rm -rf build
