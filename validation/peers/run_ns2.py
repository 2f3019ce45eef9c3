#!/usr/bin/env python3
"""Make the values of ns-2.35 again: validation/peers/data/ns2_*.csv."""

import sys

from peerlib import (
    ns2,
    ns2_dcf,
    ns2_drops,
    ns2_full_tcp,
    ns2_large,
    ns2_loops,
    ns2_mobile_ip,
    ns2_openings,
    ns2_paper,
    ns2_tcp,
)
from peerlib.driver import Experiment, main

EXPERIMENTS = (
    Experiment(
        "drops",
        "one window loses 0 to 4 packets on a wired bottleneck, segment by segment",
        ns2_drops.cases,
        ns2_drops.run,
        {"forced_drops.csv.gz": ns2_drops.COLUMNS, "forced_drops_summary.csv": ns2_drops.SUMMARY_COLUMNS},
    ),
    Experiment(
        "openings",
        "the first packets of a transfer are lost, or acknowledgements delayed, segment by segment",
        ns2_openings.cases,
        ns2_openings.run,
        {"openings.csv": ns2_openings.COLUMNS},
    ),
    Experiment(
        "full_tcp",
        "pages over one connection of FullTcp on a wire, with data both ways, segment by segment",
        ns2_full_tcp.cases,
        ns2_full_tcp.run,
        {"full_tcp.csv.gz": ns2_full_tcp.COLUMNS},
    ),
    Experiment(
        "chain",
        "TCP over the static chain of six, AODV and DSDV",
        ns2_tcp.chain_cases,
        ns2_tcp.run,
        {"chain.csv": ns2_tcp.CHAIN_COLUMNS, "chain_drops.csv": ns2_tcp.CHAIN_DROPS},
    ),
    Experiment(
        "dcf", "802.11 saturation, one sender", ns2_dcf.one_hop_cases, ns2_dcf.run, {"dcf.csv": ns2_dcf.COLUMNS}
    ),
    Experiment(
        "contend",
        "802.11 saturation, 2, 5 and 10 senders, and two hidden senders",
        ns2_dcf.contention_cases,
        ns2_dcf.run,
        {"contend.csv": ns2_dcf.COLUMNS},
    ),
    Experiment(
        "hops",
        "NewReno and Vegas over 1 to 8 hops, AODV",
        ns2_tcp.hops_cases,
        ns2_tcp.run,
        {"hops.csv": ns2_tcp.HOPS_COLUMNS, "hops_drops.csv": ns2_tcp.HOPS_DROPS},
    ),
    Experiment(
        "linux",
        "Agent/TCP/Linux and ns-2's own senders over four hops, AODV",
        ns2_tcp.linux_cases,
        ns2_tcp.run,
        {"linux.csv": ns2_tcp.LINUX_COLUMNS, "linux_drops.csv": ns2_tcp.LINUX_DROPS},
    ),
    Experiment(
        "loops",
        "datagrams to a node that leaves a chain of four, AODV",
        ns2_loops.cases,
        ns2_loops.run,
        {"loops.csv": ns2_loops.COLUMNS},
    ),
    Experiment(
        "mobile_ip",
        "TCP from a host that moves between two cells, Mobile IP with DSDV",
        ns2_mobile_ip.cases,
        ns2_mobile_ip.run,
        {
            "mobile_ip.csv": ns2_mobile_ip.COLUMNS,
            "mobile_ip_series.csv.gz": ns2_mobile_ip.SERIES,
            "mobile_ip_handoffs.csv": ns2_mobile_ip.HANDOFFS,
            "mobile_ip_sizes.csv": ns2_mobile_ip.SIZES,
        },
    ),
    Experiment(
        "mobile_ip_loops",
        "datagrams that go round between two agents of Mobile IP",
        ns2_mobile_ip.loop_cases,
        ns2_mobile_ip.run_loop,
        {"mobile_ip_loops.csv": ns2_mobile_ip.LOOPS},
    ),
    Experiment(
        "rwp50",
        "NewReno among fifty random-waypoint nodes, AODV and DSDV",
        ns2_tcp.rwp50_cases,
        ns2_tcp.run,
        {
            "rwp50.csv": ns2_tcp.RWP50_COLUMNS,
            "rwp50_flows.csv": ns2_tcp.RWP50_FLOWS,
            "rwp50_drops.csv": ns2_tcp.RWP50_DROPS,
        },
    ),
    Experiment(
        "large",
        "NewReno among 100, 200 and 400 random-waypoint nodes, AODV",
        ns2_large.cases,
        ns2_large.run,
        {"large.csv": ns2_large.COLUMNS, "large_flows.csv": ns2_large.FLOWS, "large_drops.csv": ns2_large.DROPS},
    ),
    Experiment(
        "paper",
        "the chain and the grid of Oo and Othman, static and mobile, all routing protocols",
        ns2_paper.paper_cases,
        ns2_tcp.run,
        {"paper.csv": ns2_paper.PAPER_COLUMNS, "paper_drops.csv.gz": ns2_paper.PAPER_DROPS},
    ),
    Experiment(
        "load",
        "10 to 50 connections among fifty random-waypoint nodes, all routing protocols",
        ns2_paper.load_cases,
        ns2_tcp.run,
        {"load.csv": ns2_paper.LOAD_COLUMNS, "load_drops.csv.gz": ns2_paper.LOAD_DROPS},
    ),
)

if __name__ == "__main__":
    sys.exit(main("ns2", EXPERIMENTS, ns2.executable, __doc__ or ""))
