"""Captures: their files, their contents, and the check that they can be written."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import path_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hopyard.scenario.plan import Planned

#: The most captures of one call.
MOST_FILES = 1000
#: The number of files and errors that are told one by one.
MOST_TOLD = 5
#: Captures that may have more bytes than this, or that are of as many nodes, give a warning.
LARGE = 2_000_000_000
MANY_NODES = 10_000
#: The first bytes of a pcapng file: the type of its section header block.
_MAGIC = bytes.fromhex("0a0d0d0a")


@dataclass(frozen=True)
class Capture:
    """The order for a capture: its contents and its file.

    Args:
        path: the file. Where several runs are made, it gives the folder and the beginning and
            ending of the names.
        nodes: the numbers of the nodes; none for all.
        kinds: the kinds of frames and packets that are captured; none for the usual kinds.
        force: whether captures that are there are replaced.

    Raises:
        ValueError, TypeError: when the path is empty, a node is no number, or a kind is unknown.
    """

    path: Path
    nodes: tuple[int, ...] | None = None
    kinds: tuple[str, ...] | None = None
    #: Whether captures that are there are replaced.
    force: bool = False
    #: The reasons why captures are not complete, by case and run; the runs add them.
    errors: dict[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        path: str | PathLike[str],
        nodes: str | Iterable[int] | None,
        kinds: str | Iterable[str] | None,
        *,
        force: bool = False,
    ) -> Capture:
        """A capture as it is given to `hopyard.run`."""
        file = path_of(path, "a file for the capture")
        if str(file) == "-":
            raise ValueError(
                "a capture does not go to standard output, where the results are shown: expected a file for the capture"
            )
        numbers = None if nodes is None else _numbers(nodes)
        names = None if kinds is None else _kinds(kinds)
        return cls(file, numbers, names, force=force)

    def files(self, cases: Sequence[Planned]) -> list[list[Path]]:
        """The file of each run of each case: the path itself where one run is made.

        Otherwise the name has the compared values and the number of the run: `out-vegas-3.pcapng`.
        """
        count = sum(len(case.runs) for case in cases)
        if count == 1:
            return [[self.path] * len(case.runs) for case in cases]
        if count > MOST_FILES:
            raise ValueError(
                f"expected at most {MOST_FILES} captures in one call, found {count} runs; "
                "--run N (runs=[N]) makes one run alone"
            )
        labels = _labels(cases)
        return [[self._numbered(label, run) for run in case.runs] for label, case in zip(labels, cases, strict=True)]

    def _numbered(self, label: str, run: int) -> Path:
        stem = "-".join(part for part in (self.path.stem, label, str(run)) if part)
        return self.path.with_name(f"{stem}{self.path.suffix}")

    def check(self, cases: Sequence[Planned]) -> list[str]:
        """Checks that the captures can be written, and returns warnings.

        Raises:
            ValueError: when a node is not there, or a file cannot be written or holds something
                else. No file has been changed.
        """
        for case in cases:
            missing = [node for node in self.nodes or () if not 0 <= node < case.core.nodes]
            if missing:
                raise ValueError(
                    f"node {missing[0]} is to be captured, and {case.scenario} has "
                    f"{case.core.nodes} nodes, counted from 0"
                )
        for file in {Path(case.file).resolve() for case in cases if case.file}:
            if self.path.resolve() == file:
                raise ValueError(f"{self.path} is the scenario: expected another file to capture to")
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder: expected a file for the capture")
        files = [path for paths in self.files(cases) for path in paths]
        if len(files) > 1 and self.path.is_char_device():
            raise ValueError(
                f"{self.path} is a device, and {len(files)} runs would be captured: expected one "
                "run, such as with --run 0 (runs=[0])"
            )
        for path in files:
            check_file(path, force=self.force)
        needed = sum(case.core.capture_bytes(self.nodes, self.kinds) * len(case.runs) for case in cases)
        many = max(case.core.nodes if self.nodes is None else len(self.nodes) for case in cases)
        if needed <= LARGE and many < MANY_NODES:
            return []
        what = f"{files[0]} may have" if len(files) == 1 else f"{len(files)} captures may have"
        choices = "--capture-nodes and --capture-kinds capture less"
        # The rest of what such hosts send is dropped.
        unbounded = {"host", "drops"} & set(self.kinds or _core.USUAL_CAPTURE_KINDS)
        more = ", or more if hosts send more than their links carry" if unbounded else ""
        text = f"warning: {what} up to {_size(needed)}{more}; {choices}"
        room = shutil.disk_usage(self.path.parent).free
        if room < needed:
            text += f". {_size(room)} are free there"
        return [text]

    def core(self, planned: Sequence[Planned], wanted: Sequence[Planned]) -> _core.Captures:
        """The captures of the runs to be made, which are all runs that are planned.

        Raises:
            ValueError: when some of the runs have been made before, so that they are not made.
        """
        for case, rest in zip(planned, wanted, strict=True):
            made = sorted(set(case.runs).difference(rest.runs))
            if made:
                raise ValueError(
                    f"run {made[0]} of {case.scenario} is in the folder of results, and is not "
                    "made again: expected a capture without a folder, or another folder"
                )
        return _core.Captures(self.files(planned), self.nodes, self.kinds)

    def failures(self) -> list[str]:
        """The messages about captures that are not complete."""
        found = [f"error: {error}" for error in list(self.errors.values())[:MOST_TOLD]]
        if len(self.errors) > MOST_TOLD:
            found.append(f"{len(self.errors) - MOST_TOLD} further captures could not be written.")
        return found

    def summary(self, cases: Sequence[Planned], *, stopped: bool) -> str:
        """The sentence that names the complete captures; empty if there is none.

        The file of a run that was not made is empty, because it was opened to see that it can be written.
        """
        files = [
            str(path)
            for number, (case, paths) in enumerate(zip(cases, self.files(cases), strict=True))
            for run, path in zip(case.runs, paths, strict=True)
            if (number, run) not in self.errors and not (path.is_file() and path.stat().st_size == 0)
        ]
        if not files:
            return ""
        shown = files if len(files) <= MOST_TOLD else [files[0], "...", files[-1]]
        cut = "; those of runs that were stopped end there" if stopped else ""
        return f"Captured in {', '.join(shown)}{cut}"


def check_file(path: Path, *, force: bool = False) -> None:
    """Checks that a capture can be written to a path, without changing what is there.

    Raises:
        ValueError: when it cannot. A capture is replaced only with `force`, another file never.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            with path.open("r+b") as file:
                start = file.read(len(_MAGIC))
            if start and start != _MAGIC:
                raise ValueError(f"{path} is there, and is no capture: expected another name for the capture")
            if start and not force:
                raise ValueError(
                    f"{path} is there already; choose another name, or replace it with --force (force=True)"
                )
        elif stat.S_ISDIR(mode):
            raise ValueError(f"{path} is a folder: expected a file for the capture")
        elif not stat.S_ISCHR(mode):
            raise ValueError(f"{path} is no regular file: expected a file for the capture")
    except FileNotFoundError:
        if not path.parent.exists():
            raise ValueError(f"{path}: there is no folder {path.parent}: expected a folder that is there") from None
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
            path.unlink()
        except OSError as error:
            raise _refused(path, error) from None
    except OSError as error:
        raise _refused(path, error) from None


def _size(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.3g} {unit}" if count < 1000 * size else f"{count / size:,.0f} {unit}"
    return f"{count / 1e3:,.3g} kB"


def _refused(path: Path, error: OSError) -> ValueError:
    return ValueError(f"{path}: a capture cannot be written there: {error.strerror}")


def _numbers(given: str | Iterable[int]) -> tuple[int, ...]:
    """Numbers of nodes: `0,3..5`, or one by one."""
    if not isinstance(given, str):
        if not isinstance(given, Iterable):
            raise TypeError(f"capture_nodes: expected numbers of nodes, found {given!r}")
        found = list(given)
        if any(isinstance(node, bool) or not hasattr(node, "__index__") for node in found):
            raise TypeError(f"capture_nodes: expected whole numbers, found {found!r}")
        numbers = [node.__index__() for node in found]
    else:
        numbers = [node for part in given.split(",") for node in _range(part.strip())]
    if not numbers:
        raise ValueError("expected at least one node to be captured, found none")
    if any(not 0 <= node < 2**32 for node in numbers):
        raise ValueError(f"expected numbers of nodes from 0 on, found {min(numbers)}")
    return tuple(dict.fromkeys(numbers))


def _range(text: str) -> Iterable[int]:
    found = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9}))?", text, re.ASCII)
    if found is None:
        raise ValueError(f"expected numbers of nodes such as 0,3..5, found {text!r}")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if last < first:
        raise ValueError(f"expected a range of nodes from the smaller number on, found {text!r}")
    if last - first >= 1_000_000:
        raise ValueError(f"expected a range of at most a million nodes, found {text!r}")
    return range(first, last + 1)


def _kinds(given: str | Iterable[str]) -> tuple[str, ...]:
    """Kinds of captured frames and packets: `radio,drops`, or one by one."""
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)
    unknown = [name for name in names if name not in _core.CAPTURE_KINDS]
    if unknown or not names:
        found = repr(unknown[0]) if unknown else "none"
        raise ValueError(f"expected kinds of capture ({', '.join(_core.CAPTURE_KINDS)}), found {found}")
    return tuple(dict.fromkeys(names))


def _labels(cases: Sequence[Planned]) -> list[str]:
    """The words that distinguish the cases in the names of files; nothing where there is one case."""
    if len(cases) == 1:
        return [""]
    several = len({case.scenario for case in cases}) > 1
    keys = dict.fromkeys(key for case in cases for key in case.settings)
    compared = [key for key in keys if len({case.settings.get(key) for case in cases}) > 1]
    found = []
    for number, case in enumerate(cases):
        words = [case.scenario] if several else []
        text = "-".join([*words, *(case.settings.get(key, "") for key in compared)])
        found.append(re.sub(r"[^\w.+=-]+", "_", text).strip("._")[:100] or str(number))
    if len(set(found)) < len(found):
        return [f"{number}-{label}" for number, label in enumerate(found)]
    return found
