"""Broken inputs: each is refused at once, with its place, the value found and what is expected.

The inputs stand in tests/broken: scenario files, other files such as movement files, commands, and
calls of the Python interface, each with the words that its answer must contain.
tests/test_broken_inputs.py gives them to one process. `python tests/broken_inputs.py [WORD]` gives
each to a process of its own, and prints how many are answered well: of all, or of those whose kind
or text contains WORD.
"""

from __future__ import annotations

import gzip
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "broken"
#: CPU seconds that an answer may take: an endless loop takes longer, a slow machine does not.
LONGEST = 20.0
#: The same for a process, with the interpreter and the libraries that it loads.
LONGEST_OF_PROCESS = 40.0
#: Texts that no answer may contain.
NEVER = ("Traceback", "panicked", "RUST_BACKTRACE", "PanicException")

_BASE = {"duration": '"2 s"', "nodes.count": "4", "flow.from": "0", "flow.to": "3"}
_LISTS = ("flow", "wire", "movement")


@dataclass(frozen=True, slots=True)
class Broken:
    """An input with the words of its answer: arguments of the command, or a call in Python."""

    kind: str
    text: str
    words: tuple[str, ...]
    scenario: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"

    @property
    def arguments(self) -> list[str]:
        """The arguments of the command."""
        return ["check", "case.toml"] if self.scenario is not None else shlex.split(self.text)

    def lacks(self, answer: str) -> list[str]:
        """The fault of an answer."""
        # Lines are folded to the width of the terminal.
        flat = " ".join(answer.split())
        missing = [f"no {word!r}" for word in self.words if word not in answer and word not in flat]
        return missing + [f"it has {word!r}" for word in NEVER if word in answer]


def scenario(changes: dict[str, str]) -> str:
    """A scenario of four nodes and one flow, with these changes."""
    tables: dict[str, list[str]] = {"": []}
    for key, value in (_BASE | changes).items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {value}")
    # A table's own tables follow it.
    heads = sorted(tables, key=lambda table: (table.partition(".")[0], table.count(".")))
    text = ""
    for table in heads:
        head = f"[[{table}]]" if table in _LISTS else f"[{table}]"
        text += "\n".join([*([head] if table else []), *tables[table], ""])
    return text


def cases() -> list[Broken]:
    """All broken inputs."""
    found = []
    for file in ("scenarios", "files", "commands", "calls"):
        kind = ""
        for line in (DATA / f"{file}.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("[") and line.endswith("]"):
                kind = f"{file} {line}"
            elif line and not line.startswith("#"):
                found.append(_case(file, kind, line))
    return found


def _case(file: str, kind: str, line: str) -> Broken:
    sign = " ~> " if " ~> " in line else " => "
    text, words = (part.strip() for part in line.rsplit(sign, 1))
    wanted = tuple(word.strip() for word in words.split(" | "))
    if file != "scenarios":
        return Broken(kind, text, wanted)
    changes = dict(change.split(" = ", 1) for change in text.split(" ; "))
    if sign == " => ":
        key, value = list(changes.items())[-1]
        wanted = ("case.toml:", key.rpartition(".")[2], value.strip('"'), *wanted)
    return Broken(kind, text, wanted, scenario(changes))


def prepare(folder: Path) -> None:
    """Writes the files that the inputs name."""
    good = scenario({})
    moving = scenario({"mobility.model": '"movement_file"', "mobility.movement_file.path": '"PATH"'})
    setdest = "\n".join(f"$node_({node}) set X_ {node}00.0\n$node_({node}) set Y_ 0.0" for node in range(4)) + "\n"
    bonnmotion = "0.0 1.0 1.0 2.0 3.0 3.0\n" * 4
    movements = {
        "empty.tcl": "",
        "comment.tcl": "# nothing\n",
        "number.tcl": setdest.replace("200.0", "2oo.0"),
        "nan.tcl": setdest.replace("200.0", "nan"),
        "infinite.tcl": setdest.replace("200.0", "1e999"),
        "far.tcl": setdest.replace("200.0", "1e30"),
        "fewer.tcl": setdest.replace("$node_(3) set Y_ 0.0", "$node_(3) set Y_"),
        "negative.tcl": setdest + '$ns_ at -1.0 "$node_(0) setdest 1.0 1.0 1.0"\n',
        "quote.tcl": setdest + '$ns_ at 1.0 "$node_(0) setdest 1.0 1.0 1.0\n',
        "three.tcl": setdest + '$ns_ at 1.0 "$node_(0) setdest 1.0 1.0"\n',
        "verb.tcl": setdest + '$ns_ at 1.0 "$node_(0) fly setdest 1.0 1.0 1.0"\n',
        "speed.tcl": setdest + '$ns_ at 1.0 "$node_(0) setdest 1.0 1.0 -5.0"\n',
        "node.tcl": setdest + "$node_(x) set X_ 1.0\n",
        "axis.tcl": setdest + "$node_(0) set X_ W_\n",
        "command.tcl": setdest + "puts setdest\n",
        "pairs.movements": bonnmotion + "0.0 1.0\n",
        "word.movements": bonnmotion.replace("2.0", "two", 1),
        "back.movements": bonnmotion.replace("2.0", "-2.0", 1),
        "nan.movements": bonnmotion.replace("3.0", "nan", 1),
        "few.movements": "0.0 1.0 1.0 2.0 3.0 3.0\n",
    }
    packed = gzip.compress(setdest.encode())
    # Several consecutive members form one file (RFC 1952 section 2.2).
    shorts = gzip.compress(b"x\n" * 2**20) * 119
    damaged = {
        "cut.tcl.gz": packed[:-12],
        "plain.tcl.gz": setdest.encode(),
        "flipped.tcl.gz": packed[:20] + bytes([packed[20] ^ 0xFF]) + packed[21:],
        "lines.tcl.gz": shorts,
        "faults.tcl.gz": gzip.compress(b"nonsense\n" * 2**20) * 3,
        "faults.movements": b"0 1 1\n" + b"1 2\n" * 5_000_000,
        "bytes.tcl": b"$node_(0) set X_ \xff\xfe\n",
    }
    for name, data in {**{each: text.encode() for each, text in movements.items()}, **damaged}.items():
        (folder / name).write_bytes(data)
    for name in ("pipe.tcl", "pipe.toml"):
        os.mkfifo(folder / name)
    for name in (*movements, *damaged, "missing.tcl", "folder", "pipe.tcl"):
        (folder / f"{name}.toml").write_text(moving.replace("PATH", name))
    texts = {
        "good.toml": good,
        "twice.toml": good + 'start = "0 s"\nstart = "1 s"\n',
        "tables.toml": good + "[nodes]\ncount = 5\n",
        "value.toml": "duration =\n",
        "quote.toml": 'duration = "2 s\n',
        "bracket.toml": "[nodes\ncount = 4\n",
        "equals.toml": "duration 3\n",
        "json.toml": '{"duration": "2 s"}\n',
        "empty.toml": "",
        "blank.toml": "\n\n# nothing\n",
        "noflow.toml": 'duration = "2 s"\n[nodes]\ncount = 4\n',
        "deep.toml": f"nodes = {'[' * 100000}\n",
        "list.toml": good.replace("[nodes]", "[[nodes]]"),
        "table.toml": good.replace("[[flow]]", "[flow]"),
        "several.toml": scenario({"duration": "2", "nodes.count": "-1", "flow.to": "99"}),
        "notes.txt": "mine\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.toml").write_bytes('# a\nname = "Zürich"\n'.encode("latin-1"))
    (folder / "wide.toml").write_bytes(good.encode("utf-16"))
    (folder / "binary.toml").write_bytes(bytes(range(256)) * 16)
    (folder / "zeros.toml").write_bytes(bytes(1000))
    with (folder / "large.toml").open("wb") as file:
        file.truncate(20 * 2**20)
    (folder / "folder").mkdir()
    (folder / "folder" / "mine.txt").write_text("mine\n")
    (folder / "hollow").mkdir()
    (folder / "hollow" / "results.sqlite").write_bytes(b"")
    (folder / "garbled").mkdir()
    (folder / "garbled" / "results.sqlite").write_bytes(b"no store at all " * 512)
    from hopyard import run

    both = {"flow.tcp": ["newreno", "vegas"]}
    run(folder / "good.toml", set=both, runs=1, out=folder / "results", progress=False)
    (folder / "cut").mkdir()
    whole = (folder / "results" / "results.sqlite").read_bytes()
    (folder / "cut" / "results.sqlite").write_bytes(whole[: len(whole) // 2])


#: The code before a call, and the code that prints its exception like a program that catches it.
CALL = """
import hopyard
from hopyard import Results, Scenario, load, run
good = load("good.toml")
allowed = (ValueError, TypeError, AttributeError, KeyError, IndexError, OSError)
"""


def _process(broken: Broken, folder: Path) -> tuple[str, int, float]:
    """The answer of a separate process, its exit code and its CPU seconds."""
    if broken.scenario is not None:
        (folder / "case.toml").write_text(broken.scenario, encoding="utf-8")
    command = (
        [sys.executable, "-m", "hopyard", *broken.arguments]
        if _is_command(broken)
        else [
            sys.executable,
            "-c",
            f"{CALL}\ntry:\n    {broken.text}\nexcept allowed as error:\n"
            "    print(type(error).__name__, error)\n    raise SystemExit(2)\n",
        ]
    )
    began = _used()
    environment = {**os.environ, "COLUMNS": "200", "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        command, cwd=folder, capture_output=True, timeout=60, env=environment, stdin=subprocess.DEVNULL
    )
    taken = _used() - began
    return (done.stdout + done.stderr).decode(errors="replace"), done.returncode, taken


def _used() -> float:
    """The CPU seconds that the started processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _is_command(broken: Broken) -> bool:
    return not broken.kind.startswith("calls")


def of_process(broken: Broken, folder: Path) -> list[str]:
    """The fault of the answer of a separate process."""
    answer, code, taken = _process(broken, folder)
    wrong = broken.lacks(answer)
    if code != 2:
        wrong.append(f"exit code {code}")
    if taken > LONGEST_OF_PROCESS:
        wrong.append(f"{taken:.1f} s")
    return [*wrong, answer] if wrong else []


def main(word: str = "") -> int:
    """Gives each input to a separate process and prints the results."""
    every, well = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for broken in cases():
            if word not in str(broken):
                continue
            every[broken.kind] += 1
            wrong = of_process(broken, folder)
            well[broken.kind] += not wrong
            if wrong:
                print(f"{broken}\n  {'; '.join(wrong)}\n")
    for kind, count in every.items():
        print(f"{kind:<36} {well[kind]:4} of {count:4}")
    print(f"{'all':<36} {well.total():4} of {every.total():4}")
    return 0 if well == every else 1


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:2]))
