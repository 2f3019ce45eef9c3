"""EDCA in ns-3: saturated categories, and frames with several MPDUs."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.dcf import measured
from peerlib.ns3_ofdm import PAYLOAD, WARM_UP_S
from peerlib.peer import Option, Run
from peerlib.table import Row

#: The categories of each station, with bars between the stations.
STATIONS = (
    *("BK", "BE", "VI", "VO"),
    *("VO|BE", "VI|BE", "VO|VI", "BE|BK", "VO|VO", "VI|VI", "BE|BE"),
    *("BE|BK|VI|VO", "VO,BE", "VO,VI,BE,BK"),
)
SHARES_COLUMNS = ("stations", "flow", "run", "measured_s", "packets", "throughput_kbps")

#: Channels of 802.11n: bandwidth, ns-3's number, and the bits of a symbol of 4 or 3.6 us in each mode.
CHANNELS = ((20, 36, False), (40, 38, True))
BITS = (26, 52, 78, 104, 156, 208, 234, 260)
AGGREGATES_COLUMNS = ("bandwidth_mhz", "mode", "run", "measured_s", "packets", "throughput_kbps")


@dataclass(frozen=True)
class Shares(Run):
    """One run of saturated categories."""

    stations: str
    run: int


@dataclass(frozen=True)
class Aggregate(Run):
    """One run of a station whose frames have several MPDUs."""

    bandwidth_mhz: int
    mcs: int
    run: int


def shares_cases() -> list[Shares]:
    """Every category alone, and several in one station or in several."""
    return [Shares(stations, run) for stations in STATIONS for run in range(1, 6)]


def aggregate_cases() -> list[Aggregate]:
    """Every mode of one stream on two channels."""
    return [Aggregate(it[0], mcs, run) for it in CHANNELS for mcs in range(8) for run in range(1, 3)]


def run_shares(case: Shares) -> dict[str, list[Row]]:
    """Make one run of saturated categories of 802.11a at 54 Mb/s, without TXOPs."""
    measured_s = 5.0
    options: dict[str, Option] = {
        "mode": "OfdmRate54Mbps",
        "stations": case.stations,
        "payload": PAYLOAD,
        "interval": "0.0003",
        "warm-up": WARM_UP_S,
        "duration": WARM_UP_S + measured_s,
        "run": case.run,
    }
    packets, _ = ns3.packets("ofdm", options)
    rows: list[Row] = [
        {**case.key, "flow": flow, **measured([count], PAYLOAD, measured_s)} for flow, count in enumerate(packets)
    ]
    return {"edca_shares.csv": rows}


def run_aggregate(case: Aggregate) -> dict[str, list[Row]]:
    """Make one run of a station of 802.11n that sends aggregates up to 65535 bytes."""
    measured_s = 4.0
    number, short = next(it[1:] for it in CHANNELS if it[0] == case.bandwidth_mhz)
    mbps = BITS[case.mcs] * (1 if case.bandwidth_mhz == 20 else 108 / 52) / (3.6 if short else 4)
    options: dict[str, Option] = {
        "standard": "n",
        "channel": f"{{{number},{case.bandwidth_mhz},BAND_5GHZ,0}}",
        "mode": f"HtMcs{case.mcs}",
        "short-guard": int(short),
        "ampdu": 65535,
        "payload": PAYLOAD,
        "interval": f"{8e-6 * PAYLOAD / mbps:.9f}",
        "warm-up": WARM_UP_S,
        "duration": WARM_UP_S + measured_s,
        "run": case.run,
    }
    packets, _ = ns3.packets("ofdm", options)
    row: Row = {"bandwidth_mhz": case.bandwidth_mhz, "mode": f"mcs{case.mcs}", "run": case.run}
    return {"edca_aggregates.csv": [{**row, **measured(packets, PAYLOAD, measured_s)}]}
