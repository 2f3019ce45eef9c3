"""The runs from which the compiler learns what to make fast, for wheels (`maturin build --pgo`) and for the core.

Without an argument, the installed Hopyard makes them; with one, the program of `make bench` with this path.
"""

import subprocess
import sys
from pathlib import Path

#: Three scenarios of the bench, with seconds within which all their flows start.
RUNS = {"chain6": 60, "rwp50": 160, "rwp400": 12}


def main() -> None:
    """Make each run."""
    for name, seconds in RUNS.items():
        scenario = Path(__file__).parent / "scenarios" / f"{name}.toml"
        if len(sys.argv) > 1:
            subprocess.run([sys.argv[1], str(scenario), f"until={seconds} s"], check=True)
        else:
            import hopyard

            hopyard.run(scenario, runs=1, set={"duration": f"{seconds} s"}, progress=False)


if __name__ == "__main__":
    main()
