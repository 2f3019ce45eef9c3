"""Everything that a release needs and no key: `make release-check` runs it, and a tag comes next.

Each step says what it found. One that this machine cannot do is skipped, with the reason, and counted. The last lines
say what is left to do, for which somebody's key is needed.
"""

from __future__ import annotations

import argparse
import email
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
import zipfile
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
#: A wheel may have this many bytes.
LARGEST = 25 * 10**6
#: A newcomer should have the first table after this many seconds, from an empty environment on.
SOON = 60.0


class MissingError(Exception):
    """A step needs something that is not there."""


@dataclass
class Release:
    """What is checked, and how it went."""

    dist: Path
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def step(self, what: str, work: Callable[[], str]) -> None:
        """Does a step, and says how it went."""
        try:
            told = work()
        except MissingError as error:
            self.skipped.append(what)
            print(f"skipped  {what}: {error}", flush=True)
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            self.failed.append(what)
            output = (getattr(error, "stdout", None) or "") + (getattr(error, "stderr", None) or "")
            print(f"FAILED   {what}: {error}\n{output[-4000:]}", flush=True)
        else:
            print(f"ok       {what}{told and ': '}{told}", flush=True)

    def wheel(self, name: str) -> Path:
        """The wheel of a package that was built.

        Raises:
            MissingError: when there is not one.
        """
        found = sorted(self.dist.glob(f"{name}-*.whl"))
        if len(found) != 1:
            raise MissingError(f"expected one wheel of {name} in {self.dist}, found {len(found)}")
        return found[0]


def run(*command: str | Path, where: Path = ROOT, **environment: str) -> str:
    """Runs a command, and returns what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=where,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def module(name: str, *arguments: str | Path, where: Path = ROOT, **environment: str) -> str:
    """Runs a module of this Python.

    Raises:
        MissingError: when it is not installed.
    """
    if find_spec(name) is None:
        raise MissingError(f"there is no {name}: pip install --requirement requirements/release.txt")
    return run(sys.executable, "-m", name, *arguments, where=where, **environment)


def version() -> str:
    """The version of the release, which Cargo.toml has."""
    return str(tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"])


def versions() -> str:
    """Every file that names the version names the same one."""
    wanted = version()
    places = {
        "CHANGELOG.md": rf"^## {re.escape(wanted)}$",
        "CITATION.cff": rf"^version: {re.escape(wanted)}$",
        "kernels/hopyard_kernels/__init__.py": rf'^__version__ = "{re.escape(wanted)}"$',
        "pyproject.toml": rf'^kernels = \["hopyard-kernels=={re.escape(wanted)}"\]$',
        "release/conda/recipe.yaml": rf'^  version: "{re.escape(wanted)}"$',
    }
    lacking = [
        name for name, line in places.items() if not re.search(line, (ROOT / name).read_text("utf-8"), re.MULTILINE)
    ]
    assert not lacking, f"expected version {wanted} in {', '.join(lacking)}"
    return f"{wanted} in Cargo.toml and {len(places)} other files"


def committed() -> str:
    """Nothing is left uncommitted: what is released can be found again."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        raise MissingError("this is no repository of git")
    changes = run("git", "status", "--porcelain")
    assert not changes, f"expected a tree without changes, found\n{changes}"
    return run("git", "rev-parse", "--short", "HEAD")


def citation() -> str:
    """CITATION.cff follows its schema."""
    program = Path(sys.executable).with_name("cffconvert")
    if not program.exists():
        raise MissingError("there is no cffconvert: pip install --requirement requirements/release.txt")
    return run(program, "--validate").splitlines()[-1]


def workflows() -> str:
    """The workflows have no mistake that actionlint knows."""
    if shutil.which("actionlint") is None:
        raise MissingError("there is no actionlint: go install github.com/rhysd/actionlint/cmd/actionlint@latest")
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    run("actionlint", "-shellcheck=", *files)
    return f"{len(files)} files"


def build(release: Release) -> str:
    """The wheel of this system, for old ones of its kind; the sources; the wheel of hopyard-kernels."""
    shutil.rmtree(release.dist, ignore_errors=True)
    options = ["--release", "--locked", "--quiet", "--out", str(release.dist)]
    if sys.platform == "linux":
        # zig links against the symbols of an old glibc.
        if find_spec("ziglang") is None:
            raise MissingError("there is no ziglang: pip install --requirement requirements/release.txt")
        options += ["--zig", "--compatibility", "manylinux2014"]
    # maturin looks for zig in the first Python on the path.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    module("maturin", "build", *options, "--interpreter", sys.executable, PATH=path)
    module("maturin", "sdist", "--out", release.dist)
    module(
        "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", release.dist, ROOT / "kernels"
    )
    return ", ".join(f"{path.name} ({path.stat().st_size / 1e6:.1f} MB)" for path in sorted(release.dist.iterdir()))


def content(wheel: Path, licence: str, *, gpl: bool) -> str:
    """A wheel is small, and all that is in it is under its own licence."""
    size = wheel.stat().st_size
    assert size <= LARGEST, f"{wheel.name}: expected at most {LARGEST} bytes, found {size}"
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    (about,) = (content for name, content in files.items() if name.endswith(".dist-info/METADATA"))
    found = email.message_from_bytes(about)["License-Expression"]
    assert found == licence, f"{wheel.name}: expected the licence {licence}, found {found}"
    marked = [name for name, it in files.items() if b"SPDX-License-Identifier: GPL" in it or name.endswith(".patch")]
    assert bool(marked) == gpl, f"{wheel.name}: files under the GPL: {', '.join(marked) or 'none'}"
    return f"{size / 1e6:.1f} MB, {licence}, {len(marked)} files under the GPL"


def stable(release: Release) -> str:
    """The wheel uses only the stable interface of Python 3.11, and only symbols of an old glibc."""
    wheel = release.wheel("hopyard")
    assert "-cp311-abi3-" in wheel.name, f"expected a wheel for cp311-abi3, found {wheel.name}"
    told = [module("abi3audit", "--strict", wheel) or "no violation"]
    if sys.platform == "linux":
        (shown,) = re.findall(r'following platform tag:\s*"(\w+)"', module("auditwheel", "show", wheel))
        assert shown in wheel.name, f"expected the tag {shown}, found {wheel.name}"
        told.append(shown)
    return ", ".join(told)


def newcomer(release: Release) -> str:
    """A new environment, without a compiler: from `pip install` to a first table, a plot and a replay, timed."""
    with tempfile.TemporaryDirectory(prefix="hopyard-release-") as folder:
        place = Path(folder)
        venv.create(place / "env", with_pip=True)
        bin_ = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        # Nothing else is on the path: no Rust, no compiler, no make.
        alone = {"PATH": str(bin_), "HOME": folder, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        for name in ("PIP_FIND_LINKS", "PIP_CERT", "PIP_INDEX_URL", "PIP_CACHE_DIR", "SYSTEMROOT"):
            if name in os.environ:
                alone[name] = os.environ[name]
        told = []
        begun = time.monotonic()

        def timed(what: str, *command: str | Path) -> None:
            before = time.monotonic()
            done = subprocess.run(
                [str(word) for word in command], cwd=place, env=alone, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{what}: {done.stdout}{done.stderr}"
            told.append(f"{what} {time.monotonic() - before:.1f} s")

        pip = (bin_ / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:")
        variants = ("--set", "flow.tcp=newreno,vegas")
        timed("install", *pip, release.wheel("hopyard"))
        timed("scenario", bin_ / "hopyard", "new", "chain", "-o", "chain.toml")
        timed("first table", bin_ / "hopyard", "run", "chain.toml", *variants, "--out", "out")
        took = time.monotonic() - begun
        # That depends on the network and on what else the machine does: it is told, and fails nothing.
        soon = f"{took:.1f} s to the first table ({'at most' if took <= SOON else 'more than'} {SOON:.0f} s)"
        timed("plot", bin_ / "hopyard", "plot", "out", "--measure", "goodput", "-o", "goodput.png")
        timed("replay", bin_ / "hopyard", "replay", "chain.toml", *variants, "-o", "replay.html")
        missing = [name for name in ("goodput.png", "replay.html") if not (place / name).is_file()]
        assert not missing, f"expected {' and '.join(missing)}"
        timed("digests", bin_ / "python", ROOT / "tests" / "digests.py", "--check")
        return f"{soon}: {', '.join(told)}"


def site() -> str:
    """The site has no warning."""
    if find_spec("sphinx") is None:
        raise MissingError("there is no Sphinx: pip install --requirement requirements/site.txt")
    run("make", "site")
    return f"{sum(1 for _ in (ROOT / 'target' / 'site').rglob('*.html'))} pages in target/site"


LEFT = """
Left to do, with keys:
  git tag --sign v{version} && git push origin v{version}    # .github/workflows/release.yml builds, tests and publishes
  the first time: on PyPI, a trusted publisher for release.yml (environment pypi) for hopyard and for hopyard-kernels
  conda: the digest of the published sources into release/conda/recipe.yaml, then a pull request to conda-forge
  an archive with a DOI, whose number then stands in CITATION.cff"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all steps. Returns 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=ROOT / "target" / "dist", help="the folder for what is built")
    parser.add_argument("--only", metavar="STEP,...", help="not all steps, but these")
    given = parser.parse_args(arguments)
    release = Release(given.dist.resolve())
    steps: dict[str, Callable[[], str]] = {
        "version": versions,
        "committed": committed,
        "citation": citation,
        "workflows": workflows,
        "build": lambda: build(release),
        "wheel": lambda: content(release.wheel("hopyard"), "MIT OR Apache-2.0", gpl=False),
        "stable": lambda: stable(release),
        "kernels": lambda: content(release.wheel("hopyard_kernels"), "GPL-2.0-only", gpl=True),
        "newcomer": lambda: newcomer(release),
        "site": site,
    }
    chosen = given.only.split(",") if given.only else list(steps)
    if unknown := [name for name in chosen if name not in steps]:
        parser.error(f"expected steps among {', '.join(steps)}, found {', '.join(unknown)}")
    for name in chosen:
        release.step(name, steps[name])
    print(f"{len(release.failed)} steps failed, {len(release.skipped)} skipped")
    if not release.failed and not given.only:
        print(LEFT.format(version=version()))
    # A step that was asked for by its name has to be done.
    return int(bool(release.failed or (given.only and release.skipped)))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
