# The commands of the project. Each does what it says from any state of the tree; CMake presets do the building.
LISTEN ?= 127.0.0.1:8080
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
REPEAT ?= 200
# Most stress tests last a set time whatever the machine does, so many at once make a pass short, and the machine full.
STRESS_JOBS ?= 8
# The sanitizers of g++ 12 and clang 16 stop where the kernel randomises addresses more than they expect (Ubuntu 24.04).
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

FUZZ = $(or $(TARGET),http answer redis nats ws message endpoint options program)

.DEFAULT_GOAL := help
.PHONY: help setup setup-tsan setup-lint setup-plots setup-python setup-install setup-bare setup-deb setup-conan setup-uring setup-conformance setup-bench-tls demo test test-ci bare-test asan tsan check-alone release bench instructions million-idle seeds bench-uring stress stress-tsan soak soak-tsan soak-asan soak-hand-offs soak-hand-offs-tsan soak-hand-offs-asan soak-python soak-hooks chaos attack conformance torture-tls bench-tls bench-http-client bench-ws bench-udp bench-nats cluster-test reloads fuzz valgrind matrix arm64 arm64-core setup-arm64 format tidy install wheel python-test python-all deb deb-test vcpkg-test conan-test clean

help: ## shows this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "%-30s%s\n", $$1, $$2 }'

setup: ## installs what is missing to build and test (Debian 12, Ubuntu 24.04); changes nothing else
	@scripts/setup build

setup-tsan: ## the same and clang 16
	@scripts/setup build tsan

setup-plots: ## matplotlib, which weft bench --plot needs
	@scripts/setup plots

demo: setup ## builds and starts the users service; LISTEN=127.0.0.1:9000 chooses another address
	$(call configure,demo)
	cmake --build --preset demo --target example_users --parallel $(JOBS)
	@scripts/demo build/demo/examples/users $(LISTEN)

test: setup setup-python ## builds everything and runs every test; TESTS=regex and TARGETS='a b' choose
	$(call suite,dev)

test-ci: setup setup-python ## the tests in dev without the suites that CI runs under the sanitizers, and without the longest checks
	$(call suite,ci)

asan: setup-tsan setup-python ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call suite,asan,$(FIXED_ADDRESSES))

tsan: setup-tsan ## the tests under ThreadSanitizer
	$(call suite,tsan,$(FIXED_ADDRESSES))

check-alone: setup-tsan ## whether each source compiles alone, without those that are one unit with it
	$(call configure,tsan)
	ctest --test-dir build/tsan -R '^check\.alone$$' --output-on-failure

release: setup ## the tests as released: optimised, without assertions
	$(call suite,release)

bench: setup ## micro-benchmarks; FILTER=regex selects
	$(call configure,release)
	cmake --build --preset release --target weft_bench_micro --parallel $(JOBS)
	build/release/weft_bench_micro --benchmark_filter='$(or $(FILTER),.)'

instructions: setup ## instructions of a server per request, by callgrind, beside their budgets; ARGS='hello --functions 40' and the like
	$(call configure,release)
	cmake --build --preset release --target weft_cli example_echo --parallel $(JOBS)
	bench/instructions/run --budgets bench/instructions/release.json $(ARGS)

million-idle: setup ## what an HTTP server holds for each of CONNECTIONS=1000000 idle connections in memory, and that it still serves them
	$(call configure,release)
	cmake --build --preset release --target crowd_test --parallel $(JOBS)
	WEFT_IDLE_CONNECTIONS=$(or $(CONNECTIONS),1000000) build/release/tests/crowd_test

# A peer that cannot be installed is named, and no failure.
seeds: setup setup-plots ## the experiments of the five seeds beside all peers, in 12 minutes; FULL=1: with the seeds' sizes; NAMES=ring,feed: these
	-@scripts/setup peers
	$(call configure,release)
	cmake --build --preset release --target weft_cli weft_c --parallel $(JOBS)
	if grep -qs users_variants build/release/build.ninja; then cmake --build --preset release --target users_variants --parallel $(JOBS); fi
	bench/seeds/run build/release/bin/weft $(if $(FULL),--full) $(if $(NAMES),--names $(NAMES))

bench-uring: setup setup-uring ## epoll and io_uring for sockets, compared; ARGS='--runs 15' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_uring --parallel $(JOBS)
	build/release/weft_bench_uring $(ARGS)

bench-tls: setup setup-bench-tls ## CPU time of HTTPS requests and of TLS handshakes, beside nginx, openssl and Go; ARGS='--rounds 5' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_tls --parallel $(JOBS)
	bench/tls/run build/release/weft_bench_tls $(ARGS)

bench-http-client: setup ## CPU time of a request, of weft's HTTP client beside Go's and hyper; ARGS='--rounds 5' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_http_client --parallel $(JOBS)
	bench/http_client/run build/release/weft_bench_http_client $(ARGS)

# JetStream needs a server that is in no distribution; Go builds it.
cluster-test: setup ## HISTORIES=1000 of names in simulation, NAMES_MINUTES=17 of them over etcd; work queues in JetStream; MINUTES=30 of chaos on three machines
	GOBIN=$(CURDIR)/build/tools/nats go install github.com/nats-io/nats-server/v2@v2.12.3
	$(call configure,dev)
	cmake -DWEFT_NEW_NATS_SERVER=$(CURDIR)/build/tools/nats/nats-server build/dev
	cmake --build --preset dev --target nats_test cluster_engines_test weft_linearizability chaos_node --parallel $(JOBS)
	tests/cluster/linearizability/run build/dev/tests/names_record build/dev/tests/linearizability/names_checker --histories $(or $(HISTORIES),1000) \
	    --keep build/dev/linearizability
	rm -rf build/dev/linearizability_over_etcd
	tests/cluster/linearizability/run_over_etcd build/dev/tests/names_process build/dev/tests/linearizability/names_checker \
	    --minutes $(or $(NAMES_MINUTES),17) --keep build/dev/linearizability_over_etcd
	tests/cluster/linearizability/run_over_etcd build/dev/tests/names_process build/dev/tests/linearizability/names_checker --minutes 1 --planted
	build/dev/tests/nats_test
	build/dev/tests/cluster_engines_test
	tests/cluster_chaos/run build/dev/tests/chaos_node build/tools/nats/nats-server --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED)) \
	    --keep build/dev/cluster_chaos

bench-nats: setup ## CPU time of a NATS message and of a request, beside nats.go; ARGS='--rounds 5' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_nats --parallel $(JOBS)
	bench/nats/run build/release/weft_bench_nats $(ARGS)

bench-udp: setup ## datagrams in a second of CPU time, beside plain recvmmsg() and Go; ARGS='--rounds 5' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_micro --parallel $(JOBS)
	bench/udp/run build/release/weft_bench_micro $(ARGS)

bench-ws: setup ## CPU time of a WebSocket message and memory of a busy connection, beside gorilla/websocket and uWebSockets; ARGS='--rounds 5' and the like (ARGS=--help)
	$(call configure,release)
	cmake --build --preset release --target weft_bench_ws --parallel $(JOBS)
	bench/ws/run build/release/weft_bench_ws $(ARGS)

stress: setup ## repeats each test labelled stress REPEAT=200 times
	$(call build,dev)
	ctest --preset dev -L stress --repeat until-fail:$(REPEAT) --parallel $(STRESS_JOBS)

stress-tsan: setup-tsan ## the same under ThreadSanitizer, 20 times unless REPEAT says otherwise
	$(call build,tsan)
	$(FIXED_ADDRESSES) ctest --preset tsan -L stress --repeat until-fail:$(if $(filter file,$(origin REPEAT)),20,$(REPEAT)) --parallel $(STRESS_JOBS)

bare-test: setup-bare ## the two commands on a fresh Debian 12 in a folder; as root
	@scripts/bare_test

soak: setup ## the users service among hogs, floods, slow and idle clients and Redis restarts for MINUTES=40
	$(call soak,release,40)

soak-tsan: setup-tsan ## the same under ThreadSanitizer, 10 minutes unless MINUTES says otherwise
	$(call soak,tsan,10,$(FIXED_ADDRESSES))

soak-asan: setup-tsan ## the same under AddressSanitizer and UndefinedBehaviorSanitizer, 10 minutes
	$(call soak,asan,10,$(FIXED_ADDRESSES))

soak-hand-offs: setup ## takes workers from fibers at random, HAND_OFFS=1000000 times
	$(call soak_hand_offs,release,1000000)

soak-hand-offs-tsan: setup-tsan ## the same under ThreadSanitizer, 100,000 times
	$(call soak_hand_offs,tsan,100000,$(FIXED_ADDRESSES))

soak-hand-offs-asan: setup ## the same under AddressSanitizer and UndefinedBehaviorSanitizer, 100,000 times
	$(call soak_hand_offs,asan,100000,$(FIXED_ADDRESSES))

soak-python: setup setup-python ## Python functions as fibers, everything at once, for MINUTES=20; SEED=n
	$(call configure,release)
	cmake --build --preset release --target weft_python --parallel $(JOBS)
	PYTHONPATH=build/release/python PYTHONDONTWRITEBYTECODE=1 build/tools/python/bin/python python/tests/soak.py $(or $(MINUTES),20) $(SEED)

soak-hooks: setup ## client libraries in fibers, unmodified, with real servers, for MINUTES=30, or for CALLS=1000000 in all; SEED=n
	$(call configure,release)
	cmake --build --preset release --target weft_client_tests --parallel $(JOBS)
	tests/clients/soak build/release/tests $(if $(CALLS),--calls $(CALLS),--minutes $(or $(MINUTES),30)) $(if $(SEED),--seed $(SEED))

chaos: setup ## kills actors at random in a tree of supervisors for SECONDS=60
	$(call configure,release)
	cmake --build --preset release --target actor_test --parallel $(JOBS)
	WEFT_CHAOS_SECONDS=$(or $(SECONDS),60) build/release/tests/actor_test --gtest_filter='*chaos*'

attack: setup ## requests, resets, refused system calls, failing memory, chaos: all of tests/attack, with its counts; SEED=n
	$(call configure,dev)
	cmake --build --preset dev --target weft_attack --parallel $(JOBS)
	@tests/attack/run build/dev/attack $(if $(SEED),--seed $(SEED))

conformance: setup setup-python setup-conformance ## clients, servers, proxies, scanners and suites of others against weft's TLS, HTTP client, WebSocket, TCP and UDP; ONLY=sslyze, ONLY_HTTP=httpbin, ONLY_WS=autobahn and the like
	$(call configure,dev)
	cmake --build --preset dev --target weft_conformance example_chat --parallel $(JOBS)
	$(if $(ONLY_HTTP)$(ONLY_WS),,@build/tools/python/bin/python tests/tls/conformance/run build/dev/conformance $(if $(ONLY),--only $(ONLY)))
	$(if $(ONLY)$(ONLY_WS),,@build/tools/python/bin/python tests/http_client/conformance/run build/dev/conformance $(if $(ONLY_HTTP),--only $(ONLY_HTTP)))
	$(if $(ONLY)$(ONLY_HTTP),,@build/tools/python/bin/python tests/ws/conformance/run build/dev/conformance $(if $(ONLY_WS),--only $(ONLY_WS)))
	$(if $(ONLY)$(ONLY_HTTP)$(ONLY_WS),,@tests/net/conformance/run build/dev/conformance)

torture-tls: setup ## HTTPS answers that are checked among clients that cut and spoil, ANSWERS=1000000 of them
	$(call configure,release)
	cmake --build --preset release --target tls_test --parallel $(JOBS)
	WEFT_TLS_ANSWERS=$(or $(ANSWERS),1000000) build/release/tests/tls_test --gtest_filter='tls_torture.*'

reloads: setup ## reloads, upgrades and kills of worker processes under load; ARGS='--reloads 10 --seed 1' and the like
	$(call configure,release)
	cmake --build --preset release --target weft_cli tool_http_check --parallel $(JOBS)
	tests/service/reloads/run build/release/bin/weft build/release/bin/http_check $(ARGS)

fuzz: setup-tsan ## each fuzzer for SECONDS=60; TARGET=program chooses one (fuzz/README.md)
	cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 -DWEFT_FUZZ=ON -DWEFT_TESTS=OFF -DWEFT_EXAMPLES=OFF \
	    -DWEFT_BENCH=OFF -DWEFT_TOOLS=OFF
	cmake --build build/fuzz --target $(FUZZ:%=%_fuzz) --parallel $(JOBS)
	@set -e; for t in $(FUZZ); do scripts/fuzz build/fuzz $$t $(or $(SECONDS),60) $(FIXED_ADDRESSES); done

valgrind: setup ## the core's tests under Valgrind, with those that take long
	$(call configure,dev)
	cmake --build --preset dev --target weft_valgrind --parallel $(JOBS)

matrix: setup setup-tsan ## the migration tests at -O3, by g++ and clang++, as one unit and with LTO static and shared
	tests/migration/matrix g++ build/matrix/g++ --jobs $(JOBS)
	tests/migration/matrix clang++-16 build/matrix/clang++-16 --jobs $(JOBS)

arm64: setup-arm64 ## the tests, built for aarch64 and run under emulation
	@scripts/arm64-libraries build/arm64-libraries
	$(call suite,arm64)

arm64-core: setup-arm64 ## the part of them that every change must pass
	$(call suite,arm64-core)

python-test: setup setup-python ## the tests of the Python package
	$(call configure,dev)
	cmake --build --preset dev --target weft_python --parallel $(JOBS)
	ctest --preset dev -R '^python'

python-all: setup setup-python ## the package on every Python that is here, its stubs by mypy, its wheel by auditwheel
	$(call configure,release)
	cmake --build --preset release --target weft_c --parallel $(JOBS)
	scripts/python_all build/release/libweft_c.so

wheel: setup-install setup-python ## the Python package as a wheel, in build/wheel
	build/tools/python/bin/pip wheel --no-build-isolation --no-deps --wheel-dir build/wheel ./python

setup-python:
	@scripts/setup python

setup-install:
	@scripts/setup install

setup-bare:
	@scripts/setup bare

setup-deb:
	@scripts/setup deb

setup-conan:
	@scripts/setup conan

setup-uring:
	@scripts/setup uring

setup-conformance:
	@scripts/setup conformance

setup-bench-tls:
	@scripts/setup bench-tls

setup-arm64:
	@scripts/setup build arm64

setup-lint:
	@scripts/setup build lint

format: setup-lint ## formats the sources that differ from the last commit
	@scripts/changed | xargs -r clang-format-16 -i

tidy: setup-lint ## clang-tidy on the sources that differ from the last commit
	$(call configure,dev)
	@scripts/tidy build/dev

install: setup-install ## builds what is installed, without tests, and installs it under PREFIX=/usr/local
	$(call build,install)
	cmake --install build/install --prefix $(PREFIX)

deb: setup-install setup-deb ## the Debian packages libweft0, libweft-dev and weft, in build/deb/packages
	$(call build,deb)
	rm -rf build/deb/packages
	cpack -G DEB --config build/deb/CPackConfig.cmake

deb-test: deb ## installs them into a folder, builds programs against them and runs these
	@scripts/package_test deb

vcpkg-test: setup-install ## the same with the port in packaging/vcpkg; VCPKG_ROOT is where vcpkg is
	@scripts/package_test vcpkg

conan-test: setup-install setup-conan ## the same with the Conan recipe in packaging/conan, static and shared
	@scripts/package_test conan

clean: ## removes build/
	rm -rf build

define configure
cmake --preset $(1)
endef

define build
$(call configure,$(1))
cmake --build --preset $(1) $(if $(TARGETS),--target $(TARGETS)) --parallel $(JOBS)
endef

define soak
$(call configure,$(1))
cmake --build --preset $(1) --target service_soak --parallel $(JOBS)
$(3) build/$(1)/tests/service_soak build/$(1)/tests/service_soak_server --minutes $(or $(MINUTES),$(2)) $(if $(SEED),--seed $(SEED))
endef

define soak_hand_offs
$(call configure,$(1))
cmake --build --preset $(1) --target soak_test --parallel $(JOBS)
WEFT_SOAK_HAND_OFFS=$(or $(HAND_OFFS),$(2)) $(3) build/$(1)/tests/soak_test
endef

# The report is removed first, so that a build that fails cannot leave an old one behind.
define suite
rm -f build/$(1)/junit.xml
$(call build,$(1))
$(2) ctest --preset $(1) $(if $(TESTS),-R '$(TESTS)') --output-junit junit.xml
endef
