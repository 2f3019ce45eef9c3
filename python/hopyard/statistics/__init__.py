"""Statistics of runs: intervals, comparisons, warm-up, sequential stopping, verdicts of claims.

They need the packages of the extra `lab`. `hopyard.stats` does not, and starts fast: `hopyard run`
uses that one.
"""

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
from hopyard.statistics.fairness import jain, jain_index
from hopyard.statistics.intervals import Interval, bootstrap, median, student
from hopyard.statistics.methods import FEWEST_RUNS, SEQUENCE, STUDENT, Method
from hopyard.statistics.sequential import narrow_enough, sequence
from hopyard.statistics.warmup import WarmUp, mser5

__all__ = [
    "FEWEST_RUNS",
    "SEQUENCE",
    "STUDENT",
    "Claim",
    "Equivalence",
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
    "hedges_g",
    "holm",
    "jain",
    "jain_index",
    "judge",
    "judge_all",
    "median",
    "mser5",
    "narrow_enough",
    "ratio",
    "sequence",
    "student",
    "welch",
]
