"""How often the tests, the verdicts and the warm-up's truncation are wrong, at the worst truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hopyard.statistics import Claim, Kind, Outcome, equivalence, equivalence_of_ratio, judge, judge_all, mser5, student
from scipy import signal

from validation.coverage.distributions import ALL, random_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS = (10,)
DISTRIBUTIONS = ("normal", "lognormal", "two modes")
#: Claims that are judged together.
TOGETHER = 5
#: Values of a series, and how fast its start fades.
LENGTH = 1000
FADES = 40.0


def _pairs(random: np.random.Generator, name: str, runs: int) -> tuple[Floats, Floats]:
    of = ALL[name]
    return of.draw(random, (runs,)), of.draw(random, (runs,))


def _equivalence(random: np.random.Generator, name: str, runs: int) -> bool:
    first, second = _pairs(random, name, runs)
    return equivalence(first + 0.5, second, 0.5).equivalent


def _equivalence_of_ratio(random: np.random.Generator, name: str, runs: int) -> bool:
    first, second = _pairs(random, name, runs)
    return equivalence_of_ratio(np.abs(first) * 1.25, np.abs(second), 0.8, 1.25).equivalent


def _verdict(random: np.random.Generator, name: str, runs: int) -> bool:
    first, second = _pairs(random, name, runs)
    return judge(Claim(Kind.GREATER), {"a": first, "b": second}).outcome is not Outcome.OPEN


def _verdicts(random: np.random.Generator, name: str, runs: int, *, corrected: bool) -> bool:
    claims = []
    for _ in range(TOGETHER):
        first, second = _pairs(random, name, runs)
        claims.append((Claim(Kind.GREATER), {"a": first, "b": second}))
    found = judge_all(claims) if corrected else [judge(*claim) for claim in claims]
    return any(verdict.outcome is not Outcome.OPEN for verdict in found)


def _trend(random: np.random.Generator, name: str, runs: int) -> bool:
    cases = {str(place): ALL[name].draw(random, (runs,)) for place in range(5)}
    return judge(Claim(Kind.INCREASING), cases).outcome is Outcome.HOLDS


def _series(random: np.random.Generator, runs: int, start: float) -> Floats:
    """Autoregressive noise about zero, with a start that fades."""
    shocks = random.standard_normal((runs, LENGTH))
    noise = np.asarray(signal.lfilter([1.0], [1.0, -0.7], shocks, axis=1))
    return noise + start * np.exp(-np.arange(LENGTH) / FADES)


def _warm(random: np.random.Generator, _: str, runs: int, *, start: float, cut: bool) -> bool:
    series = _series(random, runs, start)
    truncation = mser5(series).truncation or 0 if cut else 0
    return not student(series[:, truncation:].mean(axis=1)).covers(0.0)


#: Each says whether one draw is decided wrongly.
DECISIONS: dict[str, Callable[[np.random.Generator, str, int], bool]] = {
    "equivalent, though the difference is the margin": _equivalence,
    "equivalent, though the ratio is a bound": _equivalence_of_ratio,
    "a verdict, though there is no difference": _verdict,
    f"any verdict among {TOGETHER}, without Holm": lambda r, d, n: _verdicts(r, d, n, corrected=False),
    f"any verdict among {TOGETHER}, with Holm": lambda r, d, n: _verdicts(r, d, n, corrected=True),
    "increasing, though it is level": _trend,
}
WARM_UPS: dict[str, Callable[[np.random.Generator, str, int], bool]] = {
    "mean of a series with a start, not truncated": lambda r, d, n: _warm(r, d, n, start=5.0, cut=False),
    "mean of a series with a start, MSER-5": lambda r, d, n: _warm(r, d, n, start=5.0, cut=True),
    "mean of a steady series, not truncated": lambda r, d, n: _warm(r, d, n, start=0.0, cut=False),
    "mean of a steady series, MSER-5": lambda r, d, n: _warm(r, d, n, start=0.0, cut=True),
}


@dataclass(frozen=True)
class Cell:
    """One decision, one distribution, one number of runs."""

    decision: str
    distribution: str
    runs: int

    def simulate(self, draws: int) -> dict[str, object]:
        """The share of the draws that is decided wrongly."""
        random = random_of(self.decision, self.distribution, self.runs)
        wrong = {**DECISIONS, **WARM_UPS}[self.decision]
        count = sum(wrong(random, self.distribution, self.runs) for _ in range(draws))
        return {
            "decision": self.decision,
            "distribution": self.distribution,
            "runs": self.runs,
            "draws": draws,
            "wrong": count / draws,
        }


def cells() -> Iterator[Cell]:
    """Every decision over some distributions."""
    for decision in DECISIONS:
        for distribution in DISTRIBUTIONS:
            yield from (Cell(decision, distribution, runs) for runs in RUNS)
    for decision in WARM_UPS:
        yield from (Cell(decision, "normal", runs) for runs in RUNS)
