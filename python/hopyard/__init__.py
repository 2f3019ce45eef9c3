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
    from hopyard.frames import load_results
    from hopyard.results import Results
    from hopyard.running import Interrupted, run
    from hopyard.scenario import Scenario, load
    from hopyard.stats import Estimate
    from hopyard.stepping import Completion, Datagram, Simulation, start

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
    "run",
    "start",
]

# Where the public names are: imported when first used, so that the command starts at once.
_HOMES = {
    "CaptureError": "errors",
    "Completion": "stepping",
    "CongestionControl": "congestion",
    "Datagram": "stepping",
    "Estimate": "stats",
    "Interrupted": "running",
    "Problem": "errors",
    "Results": "results",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "Simulation": "stepping",
    "SimulationError": "errors",
    "__version__": "_core",
    "load": "scenario",
    "load_results": "frames",
    "run": "running",
    "start": "stepping",
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
