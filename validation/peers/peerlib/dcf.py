"""The common part of both peers' DCF runs: the cells of the table, the time of one frame."""

from collections.abc import Sequence

from peerlib.table import Row, rounded

SIZES = (64, 512, 1000, 1460)
RATES_MBPS = (1, 2, 11)

_DIFS_US = 50
_SIFS_US = 10
_SLOT_US = 20
_PREAMBLE_US = 192
_RTS_US = _PREAMBLE_US + 20 * 8
_CTS_US = _PREAMBLE_US + 14 * 8
_ACK_US = _CTS_US
_MEAN_BACKOFF_SLOTS = 15.5
# IPv4, UDP and 802.11 with four bytes of frame check.
_HEADERS_BYTES = 20 + 8 + 34


def frame_cycle_us(payload: int, rate_mbps: int, rts: int) -> float:
    """Time that one station alone needs for a datagram of `payload` bytes (basic rate 1 Mb/s)."""
    time = _DIFS_US + _MEAN_BACKOFF_SLOTS * _SLOT_US
    if rts:
        time += _RTS_US + _SIFS_US + _CTS_US + _SIFS_US
    time += _PREAMBLE_US + (payload + _HEADERS_BYTES) * 8 / rate_mbps
    return time + _SIFS_US + _ACK_US


def jain_index(shares: Sequence[int]) -> float:
    """Fairness of Jain, Chiu and Hawe (1984); 0 if nothing was received."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 0.0


def measured(packets: Sequence[int], payload: int, seconds: float) -> Row:
    """What the receivers counted, and its throughput."""
    throughput = sum(packets) * payload * 8 / seconds / 1000
    return {"measured_s": seconds, "packets": sum(packets), "throughput_kbps": rounded(throughput)}
