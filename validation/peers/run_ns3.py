#!/usr/bin/env python3
"""Make the values of ns-3.37 again: validation/peers/data/ns3_*.csv."""

import sys

from peerlib import (
    ns3,
    ns3_chains,
    ns3_dcf,
    ns3_drops,
    ns3_edca,
    ns3_fading,
    ns3_ofdm,
    ns3_olsr,
    ns3_olsr_radio,
    ns3_queues,
    ns3_tcp,
    ns3_windows,
)
from peerlib.driver import Experiment, main

EXPERIMENTS = (
    Experiment(
        "dcf", "802.11 saturation, one sender", ns3_dcf.one_hop_cases, ns3_dcf.run, {"dcf.csv": ns3_dcf.COLUMNS}
    ),
    Experiment(
        "contend",
        "802.11 saturation, 2, 5 and 10 senders",
        ns3_dcf.contention_cases,
        ns3_dcf.run,
        {"contend.csv": ns3_dcf.COLUMNS},
    ),
    Experiment(
        "ofdm",
        "802.11a saturation, 1 to 20 senders",
        ns3_ofdm.contention_cases,
        ns3_ofdm.run_contention,
        {"ofdm.csv": ns3_ofdm.COLUMNS},
    ),
    Experiment(
        "ofdm_per",
        "802.11a broadcasts by the ratio of signal to noise",
        ns3_ofdm.loss_cases,
        ns3_ofdm.run_loss,
        {"ofdm_per.csv": ns3_ofdm.PER_COLUMNS},
    ),
    Experiment(
        "rates",
        "rate control by the ratio of signal to noise",
        ns3_ofdm.control_cases,
        ns3_ofdm.run_control,
        {"rates.csv": ns3_ofdm.RATES_COLUMNS},
    ),
    Experiment(
        "fading",
        "802.11a broadcasts over fading links",
        ns3_fading.delivery_cases,
        ns3_fading.run_delivery,
        {"fading.csv": ns3_fading.COLUMNS},
    ),
    Experiment(
        "fading_rates",
        "rate control over fading links",
        ns3_fading.control_cases,
        ns3_fading.run_control,
        {"fading_rates.csv": ns3_fading.RATES_COLUMNS},
    ),
    Experiment(
        "edca",
        "EDCA, saturated categories",
        ns3_edca.shares_cases,
        ns3_edca.run_shares,
        {"edca_shares.csv": ns3_edca.SHARES_COLUMNS},
    ),
    Experiment(
        "edca_aggregates",
        "EDCA, frames with several MPDUs",
        ns3_edca.aggregate_cases,
        ns3_edca.run_aggregate,
        {"edca_aggregates.csv": ns3_edca.AGGREGATES_COLUMNS},
    ),
    Experiment(
        "drops",
        "forced drops over a wired bottleneck",
        ns3_drops.cases,
        ns3_drops.run,
        {"forced_drops.csv": ns3_drops.COLUMNS},
    ),
    Experiment(
        "windows",
        "long transfers over a wired bottleneck",
        ns3_windows.cases,
        ns3_windows.run,
        {"windows.csv": ns3_windows.COLUMNS},
    ),
    Experiment(
        "queues",
        "queue disciplines with drawn arrivals",
        ns3_queues.cases,
        ns3_queues.run,
        {"queues.csv": ns3_queues.COLUMNS},
    ),
    Experiment(
        "hops", "NewReno and Vegas over 1 to 8 hops, AODV", ns3_tcp.cases, ns3_tcp.run, {"hops.csv": ns3_tcp.COLUMNS}
    ),
    Experiment(
        "chains",
        "five senders over 1 to 6 hops of 802.11a and n, AODV and OLSR",
        ns3_chains.cases,
        ns3_chains.run,
        {"chains.csv": ns3_chains.COLUMNS},
    ),
    Experiment("olsr", "OLSR on graphs without losses", ns3_olsr.cases, ns3_olsr.run, {"olsr.csv": ns3_olsr.COLUMNS}),
    Experiment(
        "olsr_radio",
        "OLSR over a chain and among fifty nodes",
        ns3_olsr_radio.cases,
        ns3_olsr_radio.run,
        {"olsr_radio.csv": ns3_olsr_radio.COLUMNS},
    ),
)


def prepare() -> None:
    """Compile before the first run, so that parallel jobs do not compile at the same time."""
    for program in ("dcf", "wired", "manet", "ofdm", "olsr", "queues"):
        ns3.build(program)


if __name__ == "__main__":
    sys.exit(main("ns3", EXPERIMENTS, prepare, __doc__ or ""))
