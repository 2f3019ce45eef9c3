"""The kernels that scenarios need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hopyard.kernels.build import patches
from hopyard.kernels.cache import VERSIONS, WIFI, Built, agent, available, building, newest
from hopyard.kernels.check import Need, descriptors, machine, raise_descriptors, room

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hopyard import _core


def needed(cases: Sequence[tuple[_core.Scenario, int]], threads: int = 1) -> dict[str, tuple[Path, Path, Path]]:
    """The program, the agent and the folder of modules of each version of Linux that is needed.

    This process may have as many file descriptors afterwards as the kernels need.

    Args:
        cases: the scenarios, and how many runs of each are to be made.
        threads: how many runs are made at a time.

    Raises:
        ScenarioError: when a program is not there, or a kernel does not take a parameter, with
            the place in the scenario.
        ValueError: when a kernel is not built, or lacks a TCP variant, or cannot run here.
    """
    found: dict[str, Built] = {}
    for core, _ in cases:
        if core.linux is None:
            continue
        version = core.linux
        if never := impossible(core):
            raise ValueError(f"{core.name}: {never}")
        try:
            kernel = found.setdefault(version, newest(version))
        except ValueError as error:
            raise ValueError(f"{core.name}: {error}") from error
        for variant in core.linux_variants():
            if kernel.lacks_module(variant):
                raise ValueError(
                    f"{core.name}: the module of the TCP variant `{variant}` is not there for Linux"
                    f" {version}: `hopyard kernels build {version}` makes it"
                )
            if variant not in kernel.senders():
                raise ValueError(
                    f"{core.name}: Linux {version} has no TCP variant `{variant}`, which flows with"
                    f' `stack = "linux"` have: expected {", ".join(kernel.senders())}'
                )
        if lack := without_option(core):
            raise ValueError(f"{core.name}: {lack}")
        core.check_programs()
    need = most(cases, threads)
    missing = [it for it in machine(need) if not it.good] if found else []
    if missing:
        what = "; ".join(f"{it.what}: {it.found} ({it.cure})" for it in missing)
        raise ValueError(f"kernels in simulated time cannot run here: {what}")
    if found:
        raise_descriptors(need)
    try_sysctls(core for core, _ in cases)
    return {version: (kernel.program, agent(), kernel.modules) for version, kernel in found.items()}


def impossible(core: _core.Scenario) -> str:
    """Why no kernel of its version can have what a scenario needs; nothing if one can.

    Some options come with a patch, which not every version has. A patch of the user may bring them too.
    """
    option, version = core.kernel_option(), core.linux
    if version is None or option is None:
        return ""
    base, _, parts = version.partition("+")
    having = [it for it in VERSIONS if any(_brings(path, option) for path in patches(it, wifi=True))]
    if not having or base in having or parts not in ("", WIFI):
        return ""
    expected = " or ".join(f'"{it}"' for it in having)
    return (
        f"Linux {version} cannot have {option}, which the nodes of the scenario need: Hopyard has no patch for it;"
        f" expected `version = {expected}` in [linux]"
    )


def _brings(patch: Path, option: str) -> bool:
    """Whether a patch adds an option to Linux."""
    return f"+config {option.removeprefix('CONFIG_')}" in patch.read_text(encoding="utf-8").splitlines()


def without_option(core: _core.Scenario) -> str:
    """What the kernel of a scenario was built without, although its nodes route with it; nothing if it has all."""
    option = core.kernel_option()
    if core.linux is None or option is None:
        return ""
    kernel = newest(core.linux)
    if kernel.has(option):
        return ""
    return (
        f"the kernel in {kernel.folder} was built without {option}, which the nodes of the scenario need:"
        f" `{building(kernel.version)}` builds it anew"
    )


def try_sysctls(cores: Iterable[_core.Scenario]) -> None:
    """Boots a kernel for the parameters of these cases, once for those with the same parameters.

    Raises:
        ScenarioError: when a kernel does not take a parameter.
    """
    asked = {(core.linux, *core.sysctls()): core for core in cores if core.sysctls()}
    for (version, *_), core in asked.items():
        core.try_sysctls(newest(str(version)).program, agent())


def most(cases: Sequence[tuple[_core.Scenario, int]], threads: int = 1) -> Need:
    """What the runs need which need most of those that are made at a time."""
    at_a_time = threads or os.cpu_count() or 1
    each = sorted(
        (Need.of(core) for core, runs in cases if core.linux for _ in range(min(runs, at_a_time))), reverse=True
    )
    return sum(each[:at_a_time], Need(0, 0, 0, 0))


def memory_of(cores: Iterable[_core.Scenario]) -> tuple[str, bool]:
    """What the kernels of a run of these cases need beside what there is, and whether that fits.

    The text is empty where no case has kernels, or this machine can have none.
    """
    need = most([(core, 1) for core in cores])
    if not need.kernels or not available():
        return "", True
    try:
        there = room()
    except OSError:
        # `hopyard kernels check` says why.
        return str(need), True
    fits = need.least <= there.bytes
    doubt = ", which is less than they may take" if fits and need.most > there.bytes else ""
    return f"{need}; there are {there}{doubt}", fits


def descriptors_of(cores: Iterable[_core.Scenario]) -> str:
    """Why a run of these cases cannot have its file descriptors; nothing if it can."""
    need = most([(core, 1) for core in cores])
    if not need.kernels or not available():
        return ""
    found = descriptors(need)
    return "" if found.good else f"{found.what}: {found.found} ({found.cure})"


def lacking(cores: Iterable[_core.Scenario]) -> str:
    """What is to be built before these cases can run; nothing if all is there."""
    try:
        for version in dict.fromkeys(core.linux for core in cores):
            if version is not None:
                newest(version)
        return next((lack for core in cores if (lack := without_option(core))), "")
    except ValueError as error:
        return str(error)


def named(core: _core.Scenario) -> str:
    """What the results of a scenario say of its kernel; nothing if it has none."""
    if core.linux is None:
        return ""
    kernel = newest(core.linux)
    has_module = any(it in kernel.module_variants() for it in core.linux_variants())
    of_modules = f", {kernel.modules.name}" if has_module else ""
    return f", Linux {kernel.release} ({kernel.key}{of_modules})"
