"""What the runners of both peers share."""

Option = str | int | float


class PeerError(Exception):
    """A peer simulator is missing or did not finish its run."""
