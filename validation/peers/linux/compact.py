"""Makes the compact reference of Linux's senders from a folder of captures.

`python validation/peers/linux/compact.py FOLDER` reads the tables `cases_*.csv` in FOLDER and the
captures that they name, and writes `cases.csv` and `departures.csv.gz` to
`crates/model-tests/tests/data/linux`.
"""

import csv
import gzip
import sys
from pathlib import Path

OUTPUT = Path(__file__).parents[3] / "crates/model-tests/tests/data/linux"
CASE = ["set", "sender", "case"]
LINK = ["rate_bps", "delay_ns", "segments", "queue", "segments_lost", "acks_lost", "outage_ns", "stall_ns"]


def departures(capture: Path) -> list[list[object]]:
    """The data segments of a capture.

    Each has its time from the SYN in microseconds, its number, and whether it was sent before.
    """
    with gzip.open(capture, "rt") as lines:
        return [
            [int(row["time_ns"]) // 1000, int(row["segment"]) + place, row["again"]]
            for row in csv.DictReader(lines)
            if row["from"] == "d" and "S" not in row["flags"]
            for place in range(int(row["segments"]))
        ]


def main(folder: Path) -> None:
    """Reads all captures of the folder."""
    cases = [row for table in sorted(folder.glob("cases_*.csv")) for row in csv.DictReader(table.open())]
    if not cases:
        sys.exit(f"{folder}: expected tables cases_*.csv, found none")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with (OUTPUT / "cases.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*CASE, *LINK])
        table.writerows([row[column] for column in [*CASE, *LINK]] for row in cases)
    # The time of creation in the header would make each file different.
    with (OUTPUT / "departures.csv.gz").open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        lines = ["set,sender,case,time_us,segment,again\n"]
        for row in cases:
            name = [row[column] for column in CASE]
            capture = folder / f"{row['kernel']}-{'-'.join(name)}.csv.gz"
            for index, fields in enumerate(departures(capture)):
                # The name stands in the first line of a case only.
                lines.append(",".join([*(name if index == 0 else ["", "", ""]), *map(str, fields)]) + "\n")
        packed.write("".join(lines).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
