"""How many pictures a second a replay of many moving nodes has in headless Chromium, which draws by software.

python bench/replay.py [NODES] [SECONDS] prints the figure, the processor time of a picture, and the sizes.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import hopyard
from browser import Browser, found

#: How many flows there are, so that frames and drops are drawn too.
FLOWS = 20


def scenario(nodes: int) -> dict[str, object]:
    """Moving nodes, of which some send."""
    side = 100 * nodes**0.5
    return {
        "name": "many",
        "duration": "20 s",
        "nodes": {"count": nodes, "area": [f"{side:g} m", f"{side:g} m"]},
        "mobility": {
            "model": "random_waypoint",
            "random_waypoint": {"speed_min": "5 m/s", "speed_max": "20 m/s", "start": "steady_state"},
        },
        "routing": {"protocol": "aodv"},
        "radio": {"receive": "250 m", "sense": "550 m"},
        "flows": {"random": FLOWS, "traffic": "cbr"},
    }


def spent(process: int) -> float:
    """The processor time of all processes of a group, in seconds."""
    ticks = 0
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, NotADirectoryError):
            continue
        # Counted from the third field: the group is the fifth, user and system time are the 14th and 15th.
        if int(fields[2]) == process:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measures, and prints."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10.0
    if found() is None:
        raise SystemExit("Chromium is not installed (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        page = hopyard.replay(scenario(nodes), folder / "many.html")
        with Browser(folder / "profile", 1280, 800) as browser:
            browser.open(f"file://{page}#t=0&speed=1")
            browser.key(" ")
            browser.until("document.body.dataset.drawn > 5")
            drawn, began, cpu = browser.value("+document.body.dataset.drawn"), time.monotonic(), spent(browser.group)
            time.sleep(seconds)
            passed, cpu = time.monotonic() - began, spent(browser.group) - cpu
            pictures = browser.value("+document.body.dataset.drawn") - drawn
            print(f"{nodes} moving nodes, page of {page.stat().st_size / 1e6:.2f} MB, software WebGL, 1280 x 800")
            print(f"{pictures / passed:.1f} pictures a second on a machine of load {os.getloadavg()[0]:.1f}")
            print(f"{1000 * cpu / max(pictures, 1):.1f} ms of processor time a picture, all processes of the browser")


if __name__ == "__main__":
    main()
