"""The page of a replay: one file with its program and its recordings, for any browser."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard.errors import path_of
from hopyard.files import check_folder, whole
from hopyard.replaying.recording import MAGIC, MOST_ROWS, chosen, of_folder, of_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings

#: The ending of a file that has a recording alone.
ENDING = ".hopyard-replay"
#: Where the page has its recordings.
_PLACE = "<!--runs-->"


def check(recording: bytes, name: str) -> None:
    """Refuses what is no whole recording.

    Raises:
        ValueError: with the name.
    """
    if not recording.startswith(MAGIC):
        start = recording[: len(MAGIC)].decode("ascii", errors="replace")
        expected = f"a recording of this version, which begins with {MAGIC.decode()}"
        raise ValueError(f"{name}: expected {expected}, found {start or 'nothing'}")
    try:
        zlib.decompress(recording[len(MAGIC) :])
    except zlib.error as error:
        size = len(recording)
        raise ValueError(f"{name}: expected a whole recording, found {size} bytes: {error}") from None


def check_place(path: Path) -> None:
    """Refuses a name that promises another file than a page or a recording, and a folder that cannot be written.

    Raises:
        ValueError: when the name ends in something else.
        OSError: when the folder cannot be written.
    """
    if path.suffix not in (".html", ".htm", ENDING):
        raise ValueError(f"{path}: expected a name that ends in .html, or in {ENDING} for the recording alone")
    check_folder(path)


def page(recordings: Sequence[bytes]) -> str:
    """The page that shows one recording, or two side by side.

    Raises:
        ValueError: when there is none, or are more than two, or one is no whole recording.
    """
    if len(recordings) not in (1, 2):
        raise ValueError(f"expected one recording, or two to be compared, found {len(recordings)}")
    for place, recording in enumerate(recordings):
        check(recording, f"recording {place + 1}")
    player = Path(__file__).with_name("player.html").read_text(encoding="utf-8")
    packed = (base64.b64encode(each).decode("ascii") for each in recordings)
    scripts = "\n".join(f'<script type="text/plain" class="run">{text}</script>' for text in packed)
    before, _, behind = player.partition(_PLACE)
    return before + scripts + behind


def write(recordings: Sequence[bytes], path: Path) -> None:
    """Writes a page, or the recording alone where the name ends in `.hopyard-replay`.

    Raises:
        ValueError: when there are too many recordings.
        OSError: when the file cannot be written; it names the file.
    """
    if path.suffix == ENDING:
        if len(recordings) != 1:
            raise ValueError(
                f"{path}: a recording is of one run, found {len(recordings)}: expected a page, as run.html"
            )
        content = recordings[0]
    else:
        content = page(recordings).encode()
    whole(path, lambda beside: beside.write_bytes(content))


def replay(
    source: Given | PathLike[str],
    output: str | PathLike[str],
    *,
    run: int = 0,
    seed: int | None = None,
    set: Settings | None = None,
    case: Mapping[str, str] | None = None,
    against: Mapping[str, str] | None = None,
    rows: int = MOST_ROWS,
) -> Path:
    """Makes a run again, and writes the page that shows it in a browser.

    The page needs no server and no network. Two cases, such as two TCP variants on the same
    movement, stand side by side.

    Args:
        source: a scenario file, a `Scenario`, a mapping of its keys, or a folder of results.
        output: the page; a name that ends in `.hopyard-replay` is the recording alone.
        run: the number of the run.
        seed: another seed.
        set: keys with other values; two values make two cases.
        case: of several cases, the values of compared keys of the one that is shown.
        against: the values of compared keys of the case beside it.
        rows: the most rows of a table of frames, drops or paths; longer ones are thinned.

    Raises:
        ScenarioError: when the scenario is wrong.
        ValueError, TypeError: when what is given is wrong, or the cases are not one or two.
        SimulationError: when a run fails, or has another digest than in the results.
        OSError: when the page cannot be written.
    """
    place = path_of(output, "a file for the replay")
    if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows < 1:
        raise ValueError(f"rows: expected a whole number from 1 on, found {rows!r}")
    # A run may take minutes.
    check_place(place)
    folder = Path(source) if isinstance(source, str | Path) and Path(source).is_dir() else None
    if folder is not None:
        if seed is not None or set:
            raise ValueError(f"{folder} has results, whose runs are as they are: expected neither set nor seed")
        wanted = of_folder(folder, run)
    else:
        wanted = of_scenario(source, run, seed, set)
    write([each.record(rows) for each in chosen(wanted, case or {}, against)], place)
    return place
