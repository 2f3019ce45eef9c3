"""Builds a kernel for simulated time from the source of Linux.

The source is unpacked and patched in a folder of its own, which is removed afterwards, however the
build ends (`build_guard`); what is kept is one static program of 7 MB, and what modules are built
with. Agent and modules have keys of their own: only what is missing is built.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard.kernels import cache
from hopyard.kernels.cache import Built

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: The program that ends an interrupted build.
GUARD = Path(__file__).parent / "build_guard.py"
#: Higher where the same files give another kernel.
RECIPE = 3
#: A program that is needed, and Debian's package that has it.
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "strip": "binutils",
}
#: Where packages put the source of Linux.
SOURCES = Path("/usr/src")
#: The file that says which distribution this is.
RELEASE = Path("/etc/os-release")
#: The version of Linux whose source is a package of a distribution.
PACKAGED = {("debian", "12"): "6.1", ("debian", "13"): "6.12"}
#: How archives of the source are compressed: the end of their names, the program, and its package.
ARCHIVES = {".tar.xz": ("xz", "xz-utils"), ".tar.bz2": ("bzip2", "bzip2"), ".tar.gz": ("gzip", "gzip")}
#: Parts of the source that no configuration of `ARCH=um` reads.
LEFT_OUT = ("drivers/gpu/drm/amd/include", "tools/testing", "Documentation/translations")
#: What an external module is built with: parts of the source, and of the built tree.
SOURCE_HEADERS = ("Makefile", "Kbuild", "include", "scripts", "arch/um", "arch/x86")
BUILT_HEADERS = (".config", "Module.symvers", "include", "scripts", "arch/um/include", "arch/x86")
#: The bytes that unpacked source and objects take.
ROOM = 2 * 1024**3
#: How the folders of builds begin.
BUILDING = ".building-"
#: How many lines of the compiler's output an error shows.
SHOWN = 20
#: The kernel's names of TCP variants where they are not those of its options.
NAMES = {"HSTCP": "highspeed"}


class BuildError(Exception):
    """A step of the build failed."""


@dataclass(frozen=True)
class Recipe:
    """What a kernel is built from."""

    version: str
    source: Path
    #: The version of the source package.
    package: str
    compiler: str
    patches: Sequence[Path]
    configuration: Path
    #: The user's patches, which come after Hopyard's.
    own: Sequence[Path] = ()
    #: The options of Wi-Fi, beside the configuration.
    wifi: Path | None = None

    @property
    def name(self) -> str:
        """The version; behind it that there is Wi-Fi, and a number of the content of the user's patches."""
        parts = [cache.WIFI] if self.wifi else []
        if self.own:
            found = hashlib.sha256("".join(f"{_digest(path)}\n" for path in self.own).encode())
            parts.append(found.hexdigest()[: cache.DIGITS])
        return f"{self.version}+{'-'.join(parts)}" if parts else self.version

    @property
    def configurations(self) -> list[Path]:
        """The files with its options."""
        return [self.configuration, *([self.wifi] if self.wifi else [])]

    def key(self) -> str:
        """A number of everything from which the kernel follows."""
        found = hashlib.sha256()
        for path in [self.source, *self.patches, *self.configurations, *self.own]:
            found.update(f"{path.name} {_digest(path)}\n".encode())
        found.update(f"{self.compiler}\n{RECIPE}".encode())
        return found.hexdigest()[:12]


def recipe(
    version: str | None = None, source: Path | None = None, own: Sequence[Path] = (), *, wifi: bool = False
) -> Recipe:
    """What a version is built from on this machine.

    Args:
        version: the version; without one, that of the source, or the first whose source is there.
        source: an archive of the source, or a folder with it, in place of a package's.
        own: patches of the user, in the order in which they are applied.
        wifi: whether it has Linux's Wi-Fi (mac80211).

    Raises:
        ValueError: when something is missing, with what to do.
    """
    if version is None:
        version = _version_of(source) if source else _version_there()
    if version not in cache.VERSIONS:
        raise ValueError(f"expected a kernel {' or '.join(cache.VERSIONS)}, found {version!r}")
    for path in own:
        _check_patch(path)
    if not cache.available():
        raise ValueError("kernels in simulated time need Linux on an x86-64 processor")
    changes = cache.changes()
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    given, source = source, source or packaged(version)
    if source is None and _packaged() == version:
        missing.append(f"linux-source-{version}")
    for end, (tool, package) in ARCHIVES.items():
        if source is not None and source.name.endswith(end) and shutil.which(tool) is None:
            missing.append(package)
    if missing:
        raise ValueError(f"the build of kernel {version} needs more packages: apt install {' '.join(missing)}")
    if source is None:
        raise ValueError(
            f"there is no source of Linux {version} in {SOURCES}, and no package of this system is"
            f" known to have it: give an archive with --source linux-{version}.N.tar.xz"
        )
    _check_source(source)
    compiler = _output(["gcc", "--version"]).partition("\n")[0]
    return Recipe(
        version,
        source,
        package=source.name if given else _package(source),
        compiler=compiler,
        patches=patches(version, wifi=wifi),
        configuration=changes / "fragment.config",
        own=own,
        wifi=changes / "wifi.config" if wifi else None,
    )


def packaged(version: str) -> Path | None:
    """The source of a version from a package of this machine; Ubuntu has a folder for it."""
    for name in (f"linux-source-{version}", f"linux-source-{version}.0"):
        for folder in (SOURCES, SOURCES / name):
            for end in ARCHIVES:
                if (found := folder / f"{name}{end}").is_file():
                    return found
    return None


def _packaged() -> str | None:
    """The version of Linux whose source is a package of this distribution, if it is known."""
    try:
        text = RELEASE.read_text(encoding="utf-8")
    except OSError:
        return None
    said = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    name, number = (said.get(key, "").strip("\"'") for key in ("ID", "VERSION_ID"))
    return PACKAGED.get((name, number))


def _version_there() -> str:
    """The first version whose source is there; without one, what a package would have."""
    there = [version for version in cache.VERSIONS if packaged(version)]
    return next(iter(there), _packaged() or cache.VERSIONS[0])


def _version_of(source: Path) -> str:
    """The version in the name of an archive or a folder."""
    found = re.match(r"linux-(?:source-)?([0-9]+\.[0-9]+)(?![0-9])", source.name)
    if found is None:
        raise ValueError(
            f"{source}: the name does not say the version: give it too, as in"
            f" `hopyard kernels build {cache.VERSIONS[0]} --source {source}`"
        )
    return found[1]


def _check_source(source: Path) -> None:
    if source.is_dir() and not (source / "Makefile").is_file():
        raise ValueError(f"{source}: expected the source of Linux, found a folder without Makefile")
    if not source.is_dir() and not source.name.endswith(tuple(ARCHIVES)):
        ends = ", ".join(ARCHIVES)
        raise ValueError(f"{source}: expected a folder or an archive ({ends})")
    if not source.exists():
        raise ValueError(f"{source}: there is no such file")


def _check_patch(path: Path) -> None:
    """Refuses a file that no unified diff is in."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{path}: the patch cannot be read: {error.strerror}") from error
    if not any(line.startswith(b"@@ -") for line in lines):
        raise ValueError(f"{path}: expected a patch as `git diff` and `diff -u` write it, found no line with @@ -")


def _digest(path: Path) -> str:
    """A number of the content of a file, or of all files of a folder with their names."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        name = each.relative_to(path)
        if each.is_symlink():
            found.update(f"{name} -> {each.readlink()}\n".encode())
        elif each.is_file() and name.parts[0] != ".git":
            found.update(f"{name} {_digest(each)}\n".encode())
    return found.hexdigest()


def _unpack(wanted: Recipe, steps: _Steps, work: Path) -> Path:
    """Unpacks or copies the source into a folder of the build."""
    source = work / "source"
    if wanted.source.is_dir():
        shutil.copytree(wanted.source, source, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    else:
        source.mkdir()
        without = [f"--exclude=*/{part}" for part in LEFT_OUT]
        command = ["tar", "xf", str(wanted.source), "-C", str(source), "--strip-components=1"]
        steps.run("the source cannot be unpacked", [*command, *without], work)
    makefile = source / "Makefile"
    text = makefile.read_text(encoding="utf-8") if makefile.is_file() else ""
    said = dict(re.findall(r"^(VERSION|PATCHLEVEL) = ([0-9]+)$", text, re.MULTILINE))
    found = f"{said.get('VERSION', '?')}.{said.get('PATCHLEVEL', '?')}"
    if found != wanted.version:
        raise BuildError(f"{wanted.source}: expected Linux {wanted.version}, found {found}")
    return source


def patches(version: str, *, wifi: bool = False) -> list[Path]:
    """The patches of a version: those for all versions, and those with its number in their name.

    Those whose name begins with `wifi-` are for kernels with Wi-Fi.
    """
    of_version = re.compile(r"-[0-9]+\.[0-9]+\.patch$")
    return [
        path
        for path in sorted(cache.changes().glob("*.patch"))
        if (wifi or not path.name.startswith(f"{cache.WIFI}-"))
        and (path.name.endswith(f"-{version}.patch") or not of_version.search(path.name))
    ]


def build(wanted: Recipe, tell: Callable[[str], None], *, jobs: int = 1, force: bool = False) -> Built:
    """Builds a kernel, unless it is there.

    Raises:
        BuildError: when a step fails.
        OSError: when the cache cannot be written.
    """
    key = wanted.key()
    root = cache.root()
    root.mkdir(parents=True, exist_ok=True)
    with _alone(root, tell), _guarded(root) as work:
        # First, because it fails at once where there is no static C library.
        _agent(work, tell)
        kernel = next((it for it in cache.built() if it.key == key), None)
        if kernel is None or force:
            kernel = _kernel(wanted, key, work, tell, jobs)
        else:
            tell(f"kernel {wanted.name} is there: {kernel.folder}")
        _modules(kernel, work, tell)
        return kernel


def _kernel(wanted: Recipe, key: str, work: Path, tell: Callable[[str], None], jobs: int) -> Built:
    root = cache.root()
    free = shutil.disk_usage(root).free
    if free < ROOM:
        raise BuildError(f"{root}: the build takes {ROOM // 1024**2} MB for a while, {free // 1024**2} MB are free")
    kernel = _built(wanted, key, work, tell, jobs)
    final = root / f"{wanted.name}-{key}"
    if final.exists():
        shutil.rmtree(final)
    kernel.folder.rename(final)
    return next(it for it in cache.built() if it.folder == final)


def _built(wanted: Recipe, key: str, work: Path, tell: Callable[[str], None], jobs: int) -> Built:
    made = work / "made"
    made.mkdir()
    steps = _Steps(work / "build.log")
    tell(f"the source of {wanted.package} is unpacked")
    source = _unpack(wanted, steps, work)
    for patch in wanted.patches:
        command = ["patch", "-p1", "--batch", "--input", str(patch)]
        steps.run(f"{patch.name} cannot be applied", command, source)
    for patch in wanted.own:
        _apply(patch, steps, source)

    tell("the kernel is configured")
    objects = work / "objects"
    objects.mkdir()
    make = ["make", "-s", "-C", str(source), "ARCH=um", "SUBARCH=x86_64", f"O={objects}"]
    steps.run("the kernel cannot be configured", [*make, "tinyconfig"], work)
    merge = [str(source / "scripts/kconfig/merge_config.sh"), "-m", "-O", str(objects)]
    merge += [str(objects / ".config"), *map(str, wanted.configurations)]
    steps.run("the configuration cannot be merged", merge, objects)
    # What the first configuration left is that of another processor.
    for left in ("include/config", "include/generated"):
        shutil.rmtree(objects / left, ignore_errors=True)
    steps.run("the kernel cannot be configured", [*make, "olddefconfig"], work)
    configuration = (objects / ".config").read_text(encoding="utf-8")
    for fragment in wanted.configurations:
        _check_configuration(fragment, configuration)

    tell(f"the kernel is compiled, which takes some minutes ({steps.log})")
    steps.run("the kernel cannot be compiled", [*make, f"-j{jobs}"], work)
    strip = ["strip", "-o", str(made / "linux"), str(objects / "linux")]
    steps.run("the kernel cannot be stripped", strip, work)
    (made / "config").write_text(configuration, encoding="utf-8")
    _keep_headers(source, objects, made / "headers.tar.gz")
    shutil.copy(cache.changes() / "COPYING", made / "COPYING")
    kernel = Built(
        folder=made,
        version=wanted.name,
        release=_output([str(made / "linux"), "--version"]).strip(),
        package=wanted.package,
        key=key,
        compiler=wanted.compiler,
        variants=variants(configuration),
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    kernel.write()
    return kernel


def _apply(patch: Path, steps: _Steps, source: Path) -> None:
    """Applies a patch of the user. As with `git apply`, every line of context has to fit."""
    begin = steps.log.stat().st_size if steps.log.exists() else 0
    command = ["patch", "-p1", "--batch", "--forward", "--fuzz=0", "--input", str(patch.resolve())]
    try:
        steps.run(f"{patch}", command, source)
    except BuildError as error:
        with steps.log.open("rb") as log:
            log.seek(begin)
            said = log.read().decode(errors="replace")
        raise BuildError(f"{patch} does not fit the source: {faults(said) or error}") from None


def faults(said: str) -> str:
    """What failed, by file and hunk, in the words of the program `patch`."""
    found, file = [], "?"
    for line in said.splitlines():
        if named := re.match(r"(?:patching|checking) file (.+)", line):
            file = named[1]
        elif failed := re.match(r"Hunk #([0-9]+) FAILED at ([0-9]+)", line):
            found.append(f"hunk {failed[1]} of {file}, at line {failed[2]}")
        elif line.startswith("Reversed (or previously applied)"):
            found.append(f"{file} has the changes already")
        elif missing := re.match(r"\|\+\+\+ [^/\t]+/([^\t]+)", line):
            found.append(f"there is no file {missing[1]}")
        elif line.startswith("patch: ****"):
            found.append(line.removeprefix("patch: **** "))
    return "; ".join(found)


def _agent(work: Path, tell: Callable[[str], None]) -> None:
    """Compiles the agent of this version of Hopyard, unless it is there."""
    final = cache.agent()
    if final.is_file():
        return
    tell("the agent is compiled")
    final.parent.mkdir(exist_ok=True)
    steps, new = _Steps(work / "agent.log"), work / "agent"
    sources = [str(path) for path in cache.agent_sources() if path.suffix == ".c"]
    command = ["gcc", "-O2", "-static", "-pthread", "-o", str(new), *sources]
    steps.run("the agent cannot be compiled (package libc6-dev)", command, work)
    steps.run("the agent cannot be stripped", ["strip", str(new)], work)
    new.replace(final)


def _keep_headers(source: Path, objects: Path, into: Path) -> None:
    """Keeps what external modules are built with, without objects and what is hidden."""

    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = Path(entry.name).name
        left = entry.name.startswith("source/arch") and name.endswith((".c", ".S", ".dts"))
        return None if left or name.endswith((".o", ".a", ".cmd")) else entry

    with tarfile.open(into, "w:gz", compresslevel=3) as archive:
        for name, folder, parts in (("source", source, SOURCE_HEADERS), ("objects", objects, BUILT_HEADERS)):
            for part in parts:
                archive.add(folder / part, f"{name}/{part}", filter=wanted)


def _modules(kernel: Built, work: Path, tell: Callable[[str], None]) -> None:
    """Builds the modules of this version of Hopyard for a kernel, unless they are there."""
    sources = sorted(cache.modules().glob("*.c"))
    final = kernel.modules
    if final.is_dir() or not sources:
        return
    tell(f"the modules for kernel {kernel.version} are compiled")
    tree = work / "tree"
    with tarfile.open(kernel.headers) as archive:
        archive.extractall(tree, filter="data")
    new = work / "modules"
    shutil.copytree(cache.modules(), new)
    names = " ".join(f"{source.stem}.o" for source in sources)
    (new / "Kbuild").write_text(f"obj-m := {names}\n", encoding="utf-8")
    # Warnings are errors here: the flags of a kernel leave little that is not one.
    steps = _Steps(work / "modules.log")
    make = ["make", "-s", "-C", str(tree / "source"), "ARCH=um", "SUBARCH=x86_64"]
    make += [f"O={tree / 'objects'}", f"M={new}", "KCFLAGS=-Werror", "modules"]
    steps.run("the modules cannot be compiled", make, work)
    made = work / "made-modules"
    made.mkdir()
    for source in sources:
        name = f"{source.stem}.ko"
        strip = ["strip", "--strip-debug", "-o", str(made / name), str(new / name)]
        steps.run(f"{name} cannot be stripped", strip, work)
    made.rename(final)


def variants(configuration: str) -> list[str]:
    """The TCP variants of a configuration, by the names that the kernel gives them."""
    options = re.findall(r"^CONFIG_TCP_CONG_([A-Z]+)=y$", configuration, re.MULTILINE)
    return sorted(["reno", *(NAMES.get(it, it.lower()) for it in options if it not in {"ADVANCED"})])


def _check_configuration(fragment: Path, configuration: str) -> None:
    """Refuses a configuration in which options of the fragment are not taken.

    Options that a version does not have any more may be wished off, and not on.
    """
    taken = set(configuration.splitlines())
    wanted = fragment.read_text(encoding="utf-8").splitlines()
    left = [line for line in wanted if line.startswith("CONFIG_") and line not in taken]
    left = [line for line in left if not line.startswith("CONFIG_RANDOM_TRUST_")]
    if left:
        raise BuildError(f"options of {fragment.name} were not taken: {', '.join(left)}")


class _Steps:
    """The commands of a build, whose output goes to one file."""

    def __init__(self, log: Path) -> None:
        self.log = log
        #: The process group of the commands.
        self.group = _group
        # Nothing of the machine, the user and the time of the build is in the kernel.
        same = {"TIMESTAMP": "1970-01-01", "USER": "hopyard", "HOST": "hopyard"}
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            **{f"KBUILD_BUILD_{name}": value for name, value in same.items()},
        }

    def run(self, what: str, command: Sequence[str], folder: Path) -> None:
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            done = subprocess.run(
                command,
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
                process_group=self.group,
            )
        if done.returncode != 0:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise BuildError("\n".join([f"{what}; the end of the output:", *lines[-SHOWN:]]))


#: The process group of the build's guard, which ends what belongs to it; none without a guard.
_group: int | None = None


@contextmanager
def _guarded(root: Path) -> Iterator[Path]:
    """A folder for the build, which is removed and whose commands are ended with this process.

    The caller holds the lock of the cache, so that other such folders are those of builds that have
    ended.
    """
    global _group
    for left in root.glob(f"{BUILDING}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=BUILDING, dir=root))
    # Programs of the same session can belong to one group.
    guard = subprocess.Popen(
        [sys.executable, "-I", str(GUARD), str(work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )
    with guard:
        assert guard.stdout is not None
        if not guard.stdout.readline():
            shutil.rmtree(work, ignore_errors=True)
            raise BuildError("the process that ends an interrupted build cannot be started")
        _group = guard.pid
        try:
            yield work
        finally:
            _group = None
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _alone(root: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of the cache: two builds at once would make the same folder."""
    import fcntl

    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is under way, and is waited for")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _package(source: Path) -> str:
    """The version of the package with the source, where the system has packages of this kind."""
    name = source.name.partition(".tar.")[0]
    if shutil.which("dpkg-query") is None:
        return name
    form = "--showformat=${Package} ${Version}"
    return _output(["dpkg-query", "--show", form, name]).strip()


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
