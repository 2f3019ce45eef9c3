#!/usr/bin/env python3
"""Make the figures of ns-2.35 anew: validation/peers/data/ns2_*.csv."""

import sys

from peerlib import ns2, ns2_drops
from peerlib.driver import Experiment, main

EXPERIMENTS = (
    Experiment(
        "drops",
        "one window loses 0 to 4 packets on a wired bottleneck, segment by segment",
        ns2_drops.cases,
        ns2_drops.run,
        {
            "forced_drops.csv.gz": ns2_drops.COLUMNS,
            "forced_drops_summary.csv": ns2_drops.SUMMARY_COLUMNS,
        },
    ),
)

if __name__ == "__main__":
    sys.exit(main("ns2", EXPERIMENTS, ns2.executable, __doc__ or ""))
