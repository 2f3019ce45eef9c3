"""SEDLANE: a simulated network as a link whose delay and loss rate follow the trace of a run.

Seddik-Ghaleb, Ghamri-Doudane and Senouci, "SEDLANE: Simple emulation of delay and loss for ad hoc
networks environment" (ICC 2007): the packets of a trace that have similar round-trip times form a
class, and each class is a pipe of dummynet with a delay and a loss rate. Here the trace is that of
a simulated run, and the pipes are a wire that replays a schedule.
"""

from studies.sedlane.classes import Class, Classes, Rules, classify
from studies.sedlane.comparing import Fidelity, fidelity, kolmogorov_smirnov
from studies.sedlane.experiment import Over, Row, experiment
from studies.sedlane.replay import Network, replayed, schedules
from studies.sedlane.trace import Trace, trace, traces

__all__ = [
    "Class",
    "Classes",
    "Fidelity",
    "Network",
    "Over",
    "Row",
    "Rules",
    "Trace",
    "classify",
    "experiment",
    "fidelity",
    "kolmogorov_smirnov",
    "replayed",
    "schedules",
    "trace",
    "traces",
]
