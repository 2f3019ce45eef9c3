# `make demo` and `make test` are the two commands of the README; `make lint` and `make bench` are for developers.
# Each makes .venv when it is not there, with the packages pinned in requirements/, and builds the release wheel.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
OUT    ?= demo-results
# How long each fuzz target runs in `make test`, in milliseconds.
FUZZ_MS ?= 2000
# Property tests draw the same cases each time, so that a change is judged by what it changes; SEED=$$RANDOM explores.
SEED    ?= 1

RUST_SOURCES   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
PYTHON_SOURCES := $(shell find python -name '*.py' -o -name '*.pyi' -o -name '*.typed') pyproject.toml
# The folders of Python that are there; bench and validation run without being installed.
PYTHON_FOLDERS := $(wildcard python tests requirements validation bench studies)

.PHONY: demo test lint format bench validate study lock clean

demo: $(VENV)/installed
	$(BIN)/hopyard run examples/chain.toml examples/rwp50.toml \
	    --set routing.protocol=aodv,dsdv --set flow.tcp=tahoe,reno,newreno,sack,vegas --plot --out $(OUT)

test: $(VENV)/installed $(VENV)/developer
	PROPTEST_RNG_SEED=$(SEED) cargo test --locked --workspace --quiet
	BOLERO_RANDOM_SEED=$(SEED) BOLERO_RANDOM_TEST_TIME_MS=$(FUZZ_MS) cargo test --locked --manifest-path fuzz/Cargo.toml --quiet
	$(BIN)/python -m pytest

lint: $(VENV)/installed $(VENV)/developer
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- --deny warnings
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --locked --manifest-path fuzz/Cargo.toml --all-targets -- --deny warnings
	$(BIN)/ruff format --check $(PYTHON_FOLDERS)
	$(BIN)/ruff check $(PYTHON_FOLDERS)
	$(BIN)/mypy $(PYTHON_FOLDERS)
	$(BIN)/python -m mypy.stubtest hopyard._core

format: $(VENV)/developer
	cargo fmt --all
	$(BIN)/ruff format $(PYTHON_FOLDERS)
	$(BIN)/ruff check --fix $(PYTHON_FOLDERS)

bench: $(VENV)/installed
	cargo build --release --locked --quiet --package hopyard-bench --target-dir target
	$(BIN)/python bench/run.py $(BENCH)
	$(if $(BENCH),,$(BIN)/python bench/segments.py)

# Hopyard's side of the comparison with ns-2, ns-3 and closed forms: validation/results and validation/RESULTS.md.
validate:
	cargo run --locked --release --package hopyard-validation

# The studies: `make study` lists them, `make study STUDY=NAME` makes the results of one anew.
study: $(VENV)/installed
	$(BIN)/python -m studies $(STUDY)

# Chooses the newest versions that pyproject.toml and requirements/*.in allow, and pins them.
lock:
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python requirements/lock.py

$(VENV)/base: requirements/run.txt
	@$(PYTHON) -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { echo "Hopyard needs Python 3.11 or newer with venv (Debian: apt install python3-venv)."; exit 1; }
	@command -v cargo >/dev/null || { echo "Hopyard needs Rust 1.95 or newer (https://rustup.rs)."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --requirement requirements/run.txt
	@touch $@

$(VENV)/developer: requirements/dev.txt | $(VENV)/base
	$(PIP) install --requirement requirements/dev.txt
	@touch $@

$(VENV)/installed: $(VENV)/base $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf dist
	$(BIN)/maturin build --release --locked --quiet --out dist --interpreter $(BIN)/python
	$(PIP) install --no-deps --force-reinstall dist/*.whl
	@touch $@

clean:
	rm -rf $(VENV) dist demo-results
