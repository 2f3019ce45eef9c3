"""Digests of short runs, which are the same on every system: `digests.csv` has them.

    python tests/digests.py            prints them
    python tests/digests.py --check    compares them with digests.csv, and says which differ
    python tests/digests.py --write    writes digests.csv anew

Every model that needs no more than its name has a run, and so has each template of `hopyard new`. Only the core of
Hopyard is used: a wheel is tested without numpy and pyarrow, which not every system has.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

from hopyard import _core

FILE = Path(__file__).parent / "digests.csv"
#: The key that chooses a model of each room, and the models that need more than their name.
KEYS: dict[str, tuple[str, set[str]]] = {
    "acking": ("flow.acking", set()),
    "congestion": ("flow.tcp", set()),
    "energy": ("energy.model", set()),
    "fading": ("radio.fading", set()),
    "mac": ("mac.model", {"tdma"}),
    "mobility": (
        "mobility.model",
        {"waypoints", "circuit", "movement_file", "group", "roaming_group", "reference_point_group"},
    ),
    "propagation": ("radio.propagation", {"range_disc", "table"}),
    "queue": ("link.queue", set()),
    "rate_control": ("mac.rate_control", set()),
    "routing": ("routing.protocol", {"static", "source_routes"}),
    "traffic": ("flow.traffic", {"messages", "request_response", "trace"}),
}
#: Nodes that move, with routes that break.
MOVING = """
name = "moving"
duration = "6 s"

[nodes]
count = 12
spacing = "100 m"
area = ["1200 m", "300 m"]

[mobility]
model = "random_waypoint"

[routing]
protocol = "aodv"

[[flow]]
from = 0
to = 8

[[flow]]
from = 3
to = 11
start = "0.5 s"
"""


def cases() -> dict[str, _core.Scenario]:
    """The scenarios by what is said of them: the templates, and one with each model in turn."""
    found = {}
    for kind in _core.KINDS:
        text = _core.new_scenario(kind)
        # All flows have started after a minute.
        short = [("duration", "61 s")] if 'duration = "200 s"' in text else []
        found[f"new {kind}"] = _core.Scenario.parse(text, kind, ".").with_settings(short)
    moving = _core.Scenario.parse(MOVING, "moving", ".")
    for model in json.loads(_core.models()):
        key, more = KEYS.get(model["room"], ("", set()))
        if key and model["name"] not in more:
            found[f"{key}={model['name']}"] = moving.with_settings([(key, model["name"])])
    return found


def digests() -> dict[str, str]:
    """The digest of the first run of each scenario."""
    scenarios = cases()
    batch = _core.Batch(list(scenarios.values()), [[0]] * len(scenarios))
    found: dict[str, str] = {}
    names = list(scenarios)
    over = False
    while not over:
        over = batch.poll(1.0).over
        for run in batch.take()[0]:
            found[names[run.case]] = run.digest or f"failed: {run.error}"
    return {name: found[name] for name in names}


def main(arguments: list[str]) -> int:
    """Prints, compares or writes. Returns 1 where a digest differs."""
    found = digests()
    lines = "".join(f"{name},{digest}\n" for name, digest in found.items())
    if arguments == ["--write"]:
        FILE.write_text(f"run,digest\n{lines}", encoding="utf-8", newline="\n")
    elif arguments == ["--check"]:
        rows = FILE.read_text(encoding="utf-8").splitlines()[1:]
        expected = dict(row.rsplit(",", 1) for row in rows)
        wrong = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
        for name in wrong:
            print(f"{name}: expected {expected.get(name)}, found {found.get(name)}")
        here = f"{platform.system()} {platform.machine()}, {sys.maxsize.bit_length() + 1} bits"
        same = len(set(found) - set(wrong))
        print(f"{same} of {len(found)} digests are the same on {here}")
        return int(bool(wrong))
    elif arguments:
        print("expected --check, --write or nothing", file=sys.stderr)
        return 2
    else:
        print(lines, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
