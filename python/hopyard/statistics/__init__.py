"""Statistics of runs: means, comparisons, warm-up, sequential stopping, verdicts of claims.

All but the means need the packages of the extra `lab`. `hopyard run` needs means only, so that each
name is imported from its module when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopyard.statistics.claims import Claim, Kind, Outcome, Verdict, judge, judge_all
    from hopyard.statistics.comparisons import (
        Equivalence,
        cliffs_delta,
        cohens_dz,
        difference,
        equivalence,
        equivalence_of_ratio,
        hedges_g,
        holm,
        ratio,
        welch,
    )
    from hopyard.statistics.estimates import CONFIDENCE, Estimate, estimate, paired_difference
    from hopyard.statistics.fairness import jain, jain_index
    from hopyard.statistics.intervals import Interval, bootstrap, median, student
    from hopyard.statistics.methods import FEWEST_RUNS, MOST_NEEDED, SEQUENCE, STUDENT, Method, runs_needed
    from hopyard.statistics.sequential import narrow_enough, sequence
    from hopyard.statistics.warmup import WarmUp, mser5

__all__ = [
    "CONFIDENCE",
    "FEWEST_RUNS",
    "MOST_NEEDED",
    "SEQUENCE",
    "STUDENT",
    "Claim",
    "Equivalence",
    "Estimate",
    "Interval",
    "Kind",
    "Method",
    "Outcome",
    "Verdict",
    "WarmUp",
    "bootstrap",
    "cliffs_delta",
    "cohens_dz",
    "difference",
    "equivalence",
    "equivalence_of_ratio",
    "estimate",
    "hedges_g",
    "holm",
    "jain",
    "jain_index",
    "judge",
    "judge_all",
    "median",
    "mser5",
    "narrow_enough",
    "paired_difference",
    "ratio",
    "runs_needed",
    "sequence",
    "student",
    "welch",
]

#: The names of each module.
_NAMES = {
    "claims": ("Claim", "Kind", "Outcome", "Verdict", "judge", "judge_all"),
    "comparisons": (
        "Equivalence",
        "cliffs_delta",
        "cohens_dz",
        "difference",
        "equivalence",
        "equivalence_of_ratio",
        "hedges_g",
        "holm",
        "ratio",
        "welch",
    ),
    "estimates": ("CONFIDENCE", "Estimate", "estimate", "paired_difference"),
    "fairness": ("jain", "jain_index"),
    "intervals": ("Interval", "bootstrap", "median", "student"),
    "methods": ("FEWEST_RUNS", "MOST_NEEDED", "Method", "SEQUENCE", "STUDENT", "runs_needed"),
    "sequential": ("narrow_enough", "sequence"),
    "warmup": ("WarmUp", "mser5"),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
