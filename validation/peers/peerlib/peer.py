"""The common part of both peers' programs."""

from dataclasses import asdict, dataclass

Option = str | int | float


class PeerError(Exception):
    """A peer simulator is missing or did not finish its run."""


@dataclass(frozen=True)
class Run:
    """One run, or several related ones: its fields are the first columns of its rows."""

    @property
    def key(self) -> dict[str, Option | None]:
        """The columns that name the run."""
        return asdict(self)

    def name(self) -> str:
        """The text of the progress line."""
        return ", ".join(f"{name} {value}" for name, value in self.key.items())
