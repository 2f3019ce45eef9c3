# `make demo` and `make test` are the two commands of the README; `make lint` and `make bench` are for developers.
# `make demo` makes .venv with the packages pinned in requirements/, and builds a wheel in the profile `quick` (Cargo.toml). What takes
# longer than its build, or is a measurement, has the release wheel there. `make test` and `make lint` make .venv/dev with the developers'
# packages too; the wheel there is built in the profile `dev`, which shares its dependencies with the tests of Rust.

# cargo has jobs of its own: it could not use those of make, and would warn of that.
unexport MAKEFLAGS MFLAGS

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := python -m pip --disable-pip-version-check --quiet
DEV    := $(VENV)/dev
OUT    ?= demo-results
# How long each fuzz target runs in `make test`, in milliseconds.
FUZZ_MS ?= 4000
# The fuzz targets are a workspace of their own, which takes from the folder `target` the dependencies that both have.
FUZZ    := --locked --manifest-path fuzz/Cargo.toml --target-dir target
# So is the loader of the variants for a running kernel, which alone needs clang, bpftool and libbpf.
EBPF    := --locked --manifest-path ebpf/Cargo.toml --target-dir target
# Whole networks are simulated by tests of both languages: what simulates is optimised for them, and so is the core of Python, in which the
# generic parts are compiled. Files of tests are not.
SIMULATES := $(foreach crate,wire net hosts model py,--config profile.dev.package.hopyard-$(crate).opt-level=2)
# Property tests draw the same cases each time, so that a change is judged by what it changes; SEED=$$RANDOM explores.
SEED    ?= 1

# Runs the tests of a command of cargo. Then it names those that lack something here, or a part of which does, and counts them: each has
# added a line to a file (crates/engine/tests/common/skipped.rs).
counted = @echo "$(1)"; skipped=$$(mktemp) || exit 1; HOPYARD_SKIPPED=$$skipped $(1); code=$$?; \
    LC_ALL=C sort -u $$skipped; echo "$$(cut -f 2 $$skipped | sort -u | grep -c .) Rust tests skipped"; rm $$skipped; exit $$code

RUST_SOURCES   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find kernels python -type f -not -name '*.pyc' -not -name '*.so') pyproject.toml
# The folders of Python that are there; bench and validation run without being installed.
PYTHON_FOLDERS := $(wildcard python kernels tests requirements release validation bench studies web)

.PHONY: demo dev test test-rust test-fuzz test-python test-ebpf test-skipped test-skipped-rust test-skipped-python lint lint-ebpf lint-rust lint-python format bench computation validate packetdrill kernels coverage papers site release-check lock clean

# A release wheel that is there already stays.
demo: $(or $(wildcard $(VENV)/release),$(VENV)/installed)
	$(BIN)/hopyard run examples/chain.toml examples/rwp50.toml \
	    --set routing.protocol=aodv,dsdv --set flow.tcp=tahoe,reno,newreno,sack,vegas \
	    --measure delay,goodput,timeouts --plot --out $(OUT)

# The command with edited sources, for development: .venv/dev/bin/hopyard.
dev: $(DEV)/installed

test: test-rust test-fuzz test-python

test-rust:
	$(call counted,PROPTEST_RNG_SEED=$(SEED) cargo test $(SIMULATES) --locked --workspace --quiet)

test-fuzz:
	$(call counted,BOLERO_RANDOM_SEED=$(SEED) BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_MS) cargo test $(FUZZ) --quiet)

# Not a part of `test`, for what it needs: clang, bpftool, libbpf-dev, libelf-dev, zlib1g-dev, iproute2; root, and a kernel with types.
test-ebpf:
	$(call counted,cargo test $(EBPF) --quiet)

# As many processes as the machine has processors; the tests of one file run in one process, which shares its fixtures.
PYTEST := SIMULATES="$(SIMULATES)" $(DEV)/bin/python -m pytest --numprocesses auto --dist loadfile
test-python: $(DEV)/installed
	$(PYTEST)

# The tests that lacked something in another run, whose output the file SKIPPED is: of Rust whole programs, and with them what did not lack
# anything. `.ci/run` runs these a second time.
SKIPPED ?= /dev/null
LACKING        = $(shell sed -n 's/^skipped: .*\t\([a-z0-9_]*\)::.*/\1/p' $(SKIPPED) | sort -u)
LACKING_PYTHON = $(shell sed -n 's/^SKIPPED \(tests[^[ ]*\).*/\1/p' $(SKIPPED) | sort -u)

test-skipped: test-skipped-rust test-skipped-python

# The name begins with that of the test's program, or, for a test within a crate, with that of the crate. All of the latter are run: with
# fewer packages their dependencies would be compiled a second time, for other features.
test-skipped-rust:
	$(if $(LACKING),$(call counted,PROPTEST_RNG_SEED=$(SEED) cargo test $(SIMULATES) --locked --workspace --quiet \
	    $(if $(filter hopyard_%,$(LACKING)),--lib) $(addprefix --test=,$(filter-out hopyard_%,$(LACKING)))))

# A test that lacked something for one parameter is run for all of them.
test-skipped-python: $(DEV)/installed
	$(if $(LACKING_PYTHON),$(PYTEST) $(LACKING_PYTHON))

lint: lint-rust lint-python

lint-rust:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --workspace --no-deps --quiet
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy $(FUZZ) --all-targets -- --deny warnings

# Not a part of `lint`, as test-ebpf is not one of `test`.
lint-ebpf:
	cargo fmt --manifest-path ebpf/Cargo.toml --check
	cargo clippy $(EBPF) --all-targets -- --deny warnings

lint-python: $(DEV)/installed
	$(DEV)/bin/ruff format --check $(PYTHON_FOLDERS)
	$(DEV)/bin/ruff check $(PYTHON_FOLDERS)
	$(DEV)/bin/mypy $(PYTHON_FOLDERS)
	$(DEV)/bin/python -m mypy.stubtest hopyard._core

format: $(DEV)/developer
	cargo fmt --all
	$(DEV)/bin/ruff format $(PYTHON_FOLDERS)
	$(DEV)/bin/ruff check --fix $(PYTHON_FOLDERS)

bench: $(VENV)/release
	cargo build --release --locked --quiet --package hopyard-bench --target-dir target
	$(BIN)/python bench/run.py $(BENCH)
	$(if $(BENCH),,$(BIN)/python bench/segments.py)
	$(if $(BENCH),,$(BIN)/python bench/goodput.py)

# What the events of a TCP sender cost in instructions: python/hopyard/tables/computation.csv (needs valgrind).
computation: $(VENV)/release
	cargo build --release --locked --quiet --package hopyard-bench --target-dir target
	$(BIN)/python bench/computation.py

# Hopyard's side of the comparison with ns-2, ns-3 and closed forms: validation/results and validation/RESULTS.md.
validate:
	cargo run --locked --release --package hopyard-validation

# packetdrill's scripts, fetched at one commit and played against TCP: validation/results/packetdrill.csv and
# validation/RESULTS.md. SCRIPTS="NAME=FOLDER ..." plays others too.
PACKETDRILL := https://github.com/google/packetdrill
PACKETDRILL_COMMIT := 2c4001c4d6fc04a3bbd01d4b92be62717a37648a
packetdrill:
	test -d target/packetdrill || git clone --quiet $(PACKETDRILL) target/packetdrill
	git -C target/packetdrill checkout --quiet $(PACKETDRILL_COMMIT)
	cargo run --locked --quiet --package hopyard-validation -- packetdrill google=target/packetdrill/gtests/net $(SCRIPTS)

# Linux kernels in simulated time: the same run many times, and what they cost; nothing else should run meanwhile. As root, with
# NOBODY=PYTHON, a Python with Hopyard that every user can start, also as a user without rights.
kernels: $(VENV)/release
	$(BIN)/python -m validation.kernels cost
	$(BIN)/python -m validation.kernels nodes
	$(BIN)/python -m validation.kernels repeated $(if $(NOBODY),--nobody $(NOBODY))

# How often the intervals of hopyard.statistics have the truth: validation/results/coverage_*.csv and docs/guide/statistics.md.
coverage: $(DEV)/installed
	$(DEV)/bin/python -m validation.coverage --jobs $$(nproc)

# The papers: every study file with its full number of runs, and a report for each; its tables go into the folder of the
# study, and the page and the figures of it that are kept there; then the page on top, studies/papers/RESULTS.md. QUICK=--quick is a first look.
papers: $(VENV)/release requirements/lab.txt
	$(BIN)/$(PIP) install --requirement requirements/lab.txt
	for study in studies/*/study.toml; do \
	    folder=$$(dirname $$study); made=results/$$(basename $$folder)/report; \
	    $(BIN)/hopyard sweep $$folder $(QUICK) && $(BIN)/hopyard report $$folder $(QUICK) || exit 1; \
	    test -n "$(QUICK)" || { mkdir -p $$folder/results && cp $$made/*.csv $$folder/results; \
	        for shown in $$folder/results/report.html $$folder/results/*.png; do test ! -e $$shown || cp $$made/$$(basename $$shown) $$shown || exit 1; done; } || exit 1; \
	done
	test -n "$(QUICK)" || $(BIN)/python -m studies.papers

# The pages of the repository as a site, in target/site; any browser opens its files. A warning, such as of a link that leads nowhere,
# is an error.
site: $(DEV)/installed $(DEV)/site
	$(DEV)/bin/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir web --doctree-dir target/doctrees . target/site

# All that a release needs, but for somebody's keys: release/check.py. It builds the wheels into target/dist.
release-check: $(DEV)/installed $(DEV)/site $(DEV)/release
	$(DEV)/bin/python release/check.py

# Chooses the newest versions that pyproject.toml and requirements/*.in allow, and pins them.
lock:
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python requirements/lock.py

# An environment with what the package and its build need: .venv, and .venv/dev.
%/base: requirements/run.txt
	@$(PYTHON) -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "Hopyard needs Python 3.11 or newer with venv (Debian: apt install python3-venv)."; exit 1; }
	@command -v cargo >/dev/null || { echo "Hopyard needs Rust 1.95 or newer (https://rustup.rs)."; exit 1; }
	test -x $*/bin/python || $(PYTHON) -m venv $*
	$*/bin/$(PIP) install --requirement requirements/run.txt
	@touch $@

$(DEV)/developer: requirements/dev.txt requirements/lab.txt | $(DEV)/base
	$(DEV)/bin/$(PIP) install --requirement requirements/lab.txt --requirement requirements/dev.txt
	@touch $@

$(DEV)/site $(DEV)/release: $(DEV)/%: requirements/%.txt | $(DEV)/developer
	$(DEV)/bin/$(PIP) install --requirement $<
	@touch $@

$(VENV)/installed: PROFILE := quick
$(VENV)/release: PROFILE := release
$(VENV)/installed $(VENV)/release: $(VENV)/base $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf dist $(VENV)/installed $(VENV)/release
	$(BIN)/maturin build --profile $(PROFILE) --locked --quiet --out dist --interpreter $(BIN)/python
	$(BIN)/$(PIP) install --no-deps --force-reinstall --no-build-isolation dist/*.whl ./kernels
	@touch $@

$(DEV)/installed: $(DEV)/base $(DEV)/developer $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf $(DEV)/dist
	$(DEV)/bin/maturin build --profile dev $(SIMULATES) --locked --quiet --out $(DEV)/dist --interpreter $(DEV)/bin/python
	$(DEV)/bin/$(PIP) install --no-deps --force-reinstall --no-build-isolation $(DEV)/dist/*.whl ./kernels
	@touch $@

clean:
	rm -rf $(VENV) dist demo-results
