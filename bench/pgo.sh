#!/bin/sh
# Builds the programs of `make bench`, in target/published, as the wheels for Linux are: with a profile of runs (PGO).
# It needs `rustup component add llvm-tools`. Both builds name their target: so cargo compiles what runs during a build,
# build scripts and macros, without these flags. The results of runs do not change.
set -eu
cd "$(dirname "$0")/.."

host=$(rustc --print host-tuple)
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
work=$PWD/target/pgo
[ -x "$profdata" ] || { echo "PGO needs llvm-profdata: rustup component add llvm-tools" >&2; exit 1; }

build() {
    RUSTFLAGS=$1 cargo build --release --locked --quiet --package hopyard-bench --target "$host" --target-dir "$work"
}

# cargo would not see that counts have changed.
rm -rf "$work"
build "-Cprofile-generate=$work/counts"
python3 bench/train.py "$work/$host/release/hopyard-bench" >&2
"$profdata" merge --output "$work/profile" "$work/counts"
build "-Cprofile-use=$work/profile"
mkdir -p target/published
cp "$work/$host/release/hopyard-bench" "$work/$host/release/hopyard-segments" target/published
