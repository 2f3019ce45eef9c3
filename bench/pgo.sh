#!/bin/sh
# Builds a release with a profile of its runs (PGO): first a build that counts, then runs of three scenarios with it,
# then the build that uses the counts. Prints the path of what is built.
#
#   bench/pgo.sh core    the program of `make bench`
#   bench/pgo.sh wheel   a wheel for publication; `make wheel-pgo` calls this, with the environment .venv
#
# It needs `rustup component add llvm-tools`. Both builds name their target: so cargo compiles what runs during a build,
# build scripts and macros, without these flags. The results of runs do not change.
set -eu
cd "$(dirname "$0")/.."

host=$(rustc --print host-tuple)
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
work=$PWD/target/pgo
[ -x "$profdata" ] || { echo "PGO needs llvm-profdata: rustup component add llvm-tools" >&2; exit 1; }

# build FLAGS: builds with these flags, and installs for `run`.
# run SCENARIO SECONDS: runs a scenario. All its flows start within these seconds.
case ${1:-} in
core)
    built=$work/core/$host/release/hopyard-bench
    build() {
        RUSTFLAGS=$1 cargo build --release --locked --quiet --package hopyard-bench --bin hopyard-bench \
            --target "$host" --target-dir "$work/core"
    }
    run() { "$built" "bench/scenarios/$1.toml" "until=$2 s"; }
    ;;
wheel)
    built=dist/pgo
    build() {
        rm -rf "$built" "$work/installed"
        RUSTFLAGS=$1 CARGO_TARGET_DIR=$work/wheel .venv/bin/maturin build --release --locked --quiet \
            --target "$host" --out "$built" --interpreter .venv/bin/python
        .venv/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --target "$work/installed" \
            "$built"/*.whl
    }
    run() {
        PYTHONPATH=$work/installed .venv/bin/python -m hopyard run "bench/scenarios/$1.toml" --runs 1 \
            --set "duration=$2 s" --out "$work/results/$1"
    }
    ;;
*)
    echo "usage: bench/pgo.sh core|wheel" >&2
    exit 2
    ;;
esac

# cargo would not see that counts have changed.
rm -rf "$work"
build "-Cprofile-generate=$work/counts"
{ run chain6 60; run rwp50 160; run rwp400 12; } >&2
"$profdata" merge --output "$work/profile" "$work/counts"
build "-Cprofile-use=$work/profile"
ls "$built"
