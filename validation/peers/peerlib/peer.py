"""The common part of both peers' programs."""

Option = str | int | float


class PeerError(Exception):
    """A peer simulator is missing or did not finish its run."""
