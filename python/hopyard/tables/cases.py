"""The cases of a comparison whose runs have been made, and the runs that failed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration of a comparison: a scenario with one combination of compared settings."""

    number: int
    scenario: str
    settings: dict[str, str]
    config: str
    seed: int

    def __str__(self) -> str:
        return ", ".join([self.scenario, *(f"{key}={value}" for key, value in self.settings.items())])


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that could not start or finish."""

    scenario: str
    file: str | None
    settings: dict[str, str]
    config: str
    seed: int
    run: int
    error: str

    def __str__(self) -> str:
        settings = "".join(f" {key}={value}" for key, value in self.settings.items())
        where = f"run {self.run} of {self.scenario}{settings} with seed {self.seed}"
        return f"{where} failed: {self.error}"
