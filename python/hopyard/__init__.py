"""Hopyard: a laboratory for TCP over mobile ad hoc networks.

import hopyard

results = hopyard.run("chain.toml", set={"flow.tcp": ["newreno", "vegas"]}, runs=10)
print(results.summary().to_pandas())  # with pandas: pip install ".[pandas]"
results.plot().savefig("goodput.png")
"""

# Nothing is imported here: `python -m hopyard` imports this file before `__main__`, where the first
# line says what Ctrl-C does. `typing` is not needed for this constant, which type checkers know.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from hopyard._core import __version__
    from hopyard.congestion import CongestionControl
    from hopyard.errors import CaptureError, Problem, ScenarioError, SimulationError
    from hopyard.replaying.page import replay
    from hopyard.results.results import Results
    from hopyard.running.run import Interrupted, run
    from hopyard.running.stepping import Completion, Datagram, Simulation, start
    from hopyard.scenario.scenario import Scenario, load
    from hopyard.statistics.estimates import Estimate
    from hopyard.study.frames import load_results

__all__ = [
    "CaptureError",
    "Completion",
    "CongestionControl",
    "Datagram",
    "Estimate",
    "Interrupted",
    "Problem",
    "Results",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "SimulationError",
    "__version__",
    "load",
    "load_results",
    "replay",
    "run",
    "start",
]

# Where the public names are: imported when first used, so that the command starts at once.
_HOMES = {
    "CaptureError": "errors",
    "Completion": "running.stepping",
    "CongestionControl": "congestion",
    "Datagram": "running.stepping",
    "Estimate": "statistics.estimates",
    "Interrupted": "running.run",
    "Problem": "errors",
    "Results": "results.results",
    "Scenario": "scenario.scenario",
    "ScenarioError": "errors",
    "Simulation": "running.stepping",
    "SimulationError": "errors",
    "__version__": "_core",
    "load": "scenario.scenario",
    "load_results": "study.frames",
    "replay": "replaying.page",
    "run": "running.run",
    "start": "running.stepping",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hopyard' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"hopyard.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
