"""The documentation: links lead to files, scenarios are valid, commands and programs run."""

from __future__ import annotations

import csv
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import click
import hopyard
import pytest
from hopyard import _core
from hopyard.cli.main import main
from hopyard.scenario.catalogue import models
from hopyard.study.file import is_study
from live_lab import is_installed
from short import command, ok

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
CUSTOM_TCP = DOCS / "guide" / "custom-tcp"
#: Folders whose Markdown files belong to the project.
FOLDERS = ("docs", "kernels", "studies", "validation", "bench", "fuzz")
MARKDOWN = sorted(ROOT.glob("*.md")) + sorted(
    page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md") if "target" not in page.parts
)
#: Pages that a user works through. The README's examples have tests of their own below.
GUIDES = [
    DOCS / f"{name}.md"
    for name in (
        "index",
        "start/install",
        "start/first-steps",
        "guide/python",
        "start/recipes",
        "guide/custom-tcp",
        "guide/stepping",
        "guide/gym",
        "guide/networks",
        "guide/plots",
        "guide/notebook",
        "guide/studies",
        "guide/statistics",
        "start/tutorial",
        "start/from-ns2",
        "guide/handoffs",
    )
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: The line before a block that belongs into a file names the file and ends with a colon.
_FILE = re.compile(r"`([\w.-]+\.(?:toml|py|tcl|txt|csv|movements))`[^`\n]*:\n\n$")


@dataclass(frozen=True)
class Block:
    """A block of code on a page: its language, its text, and the file into which it belongs."""

    language: str
    text: str
    file: str | None
    line: int


def blocks(page: Path) -> list[Block]:
    """The blocks of code of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in _FENCE.finditer(text):
        named = _FILE.search(text, 0, fence.start())
        line = text.count("\n", 0, fence.start()) + 1
        found.append(Block(fence[1], fence[2], named[1] if named else None, line))
    return found


def links(page: Path) -> list[tuple[str, Path]]:
    """The relative links of a page, with the files to which they lead."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [
        (target, (page.parent / target.partition("#")[0]).resolve())
        for target in _LINK.findall(text)
        if not re.match(r"[a-z]+:|#", target)
    ]


def name(page: Path) -> str:
    """The name of a page in the list of tests."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", MARKDOWN, ids=name)
def test_relative_links_lead_to_files(page: Path) -> None:
    assert [target for target, path in links(page) if not path.exists()] == []


def test_the_index_links_every_page() -> None:
    linked = {path for _, path in links(INDEX)}
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {INDEX.resolve()}
    assert sorted(name(page) for page in pages - linked) == []


def test_the_readme_links_the_index_and_the_citation() -> None:
    linked = {path for _, path in links(ROOT / "README.md")}
    assert {INDEX.resolve(), (ROOT / "CITATION.cff").resolve()} <= linked


def test_the_citation_has_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [hopyard.__version__]


@pytest.mark.parametrize("page", MARKDOWN, ids=name)
def test_scenarios_of_the_pages_are_valid(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    lacking = []
    for block in blocks(page):
        if block.language == "toml":
            scenario = tmp_path / (block.file or f"line-{block.line}.toml")
            if is_study(block.text):
                continue  # It is read, and run, with the commands of its page.
            # A page of a model may show its own tables alone.
            nodes = "" if "[nodes]" in block.text else "\n[nodes]\ncount = 2\n"
            flow = "\n[[flow]]\nfrom = 0\nto = 1\n" if "[sweep]" in block.text else ""
            # The folder of the reader's own files.
            text = block.text.replace("/home/you/lab", str(tmp_path))
            scenario.write_text(text + nodes + flow, encoding="utf-8")
            programs = {shlex.split(host["run"])[0] for host in tomllib.loads(block.text).get("host", [])}
            if absent := [each for each in sorted(programs) if not is_installed(each)]:
                lacking.append(f"line {block.line}: {', '.join(absent)}")
                continue
            done = command("check", scenario)
            assert done.exit_code == 0, f"{page}:{block.line}"
            if all(part in block.text for part in ("duration", "[nodes]", "flow")):
                assert "warning" not in done.output, f"{page}:{block.line}\n{done.output}"
    if lacking:
        pytest.skip(f"programs of these scenarios are not installed: {'; '.join(lacking)}")


@pytest.mark.parametrize("room", ["mobility", "propagation", "fading", "mac", "rate_control"])
def test_the_page_of_a_model_shows_how_to_choose_it(room: str) -> None:
    names = [model["name"] for model in models() if model["room"] == room]
    # The first one is chosen by every scenario that chooses none.
    for model in names[1:]:
        shown = [block.text for block in blocks(DOCS / "models" / f"{model}.md") if block.language == "toml"]
        assert any(f'= "{model}"' in text for text in shown), model


def test_the_page_of_the_keys_has_the_units_of_each_quantity() -> None:
    page = (DOCS / "scenario.md").read_text(encoding="utf-8")
    table = page.partition("| quantity | units |")[2].partition("\n\n")[0]
    rows = [line.strip("|").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) == 8
    for _, units, example, key in rows:
        (name,), (text,) = re.findall(r"`(.*)`", key), re.findall(r'`"(.*)"`', example)
        # The possible values depend on the key. That the text is a quantity does not.
        for unit in re.findall(r"`(.*?)`", units):
            assert "is the text" not in problem_with(name, f"1 {unit}"), (name, unit)
        assert "is the text" not in problem_with(name, text)
        assert "is the text" in problem_with(name, "1 parsec")


def problem_with(key: str, value: str) -> str:
    """The problem of a scenario with this value; empty if there is none."""
    scenario = hopyard.Scenario(nodes={"count": 2}, mobility={"model": "random_waypoint"})
    try:
        scenario.update({key: value})
    except hopyard.ScenarioError as error:
        return str(error)
    return ""


def shortened(arguments: list[str]) -> list[str]:
    """The arguments of `hopyard run`, with ten simulated seconds and a tenth of the runs."""
    short, rest = [], iter(arguments)
    for word in rest:
        if word == "--runs":
            short += [word, str(max(2, int(next(rest)) // 10))]
        elif word == "--set":
            setting = next(rest)
            if not setting.startswith(("duration=", "measure.from=")):
                short += [word, setting]
        else:
            short.append(word)
    if "--runs" not in short:
        short += ["--runs", "2"]
    return [*short, "--set", "duration=10 s", "--set", "measure.from=0 s"]


def run_line(line: str, where: str) -> None:
    """Runs a line of a page that is a `hopyard` command; other lines are for other programs."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    if not words or words[0] != "hopyard":
        return
    output: str | None = None
    if ">" in words:
        output = words[-1]
        words = words[:-2]
    arguments = [words[1], *shortened(words[2:])] if words[1] == "run" else words[1:]
    if words[1] == "replay" and any(word.endswith(".toml") for word in words):
        arguments += ["--set", "duration=10 s", "--set", "measure.from=0 s"]
    if words[1] in ("sweep", "results", "report"):
        arguments.append("--quick")
    done = command(*arguments)
    assert done.exit_code == 0, f"{where}: {line}"
    if output:
        Path(output).write_text(done.stdout, encoding="utf-8")


def test_settings_of_the_examples_are_right_as_printed() -> None:
    """Commands of the pages are made shorter here, or are not run: their settings are looked at as they are."""
    texts = [block.text.replace("\\\n", " ") for page in MARKDOWN for block in blocks(page)]
    lines = [line for text in texts for line in text.splitlines() if re.match(r"(\$ )?hopyard \w+ examples/", line)]
    assert len(lines) > 2
    for line in lines:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        files = [word for word in words if re.fullmatch(r"examples/[\w/.-]+\.toml", word)]
        pairs = [each for each in pairwise(words) if each[0] in ("--set", "--with")]
        ok("check", *(str(ROOT / file) for file in files), *chain.from_iterable(pairs))


@pytest.mark.parametrize("page", GUIDES, ids=name)
@pytest.mark.filterwarnings("default")
def test_commands_and_programs_of_the_guides_run(page: Path, here: Path) -> None:
    for source in [*(ROOT / "examples").glob("*.toml"), *CUSTOM_TCP.glob("*.toml")]:
        folder = here / "examples" if source.parent.name == "examples" else here
        folder.mkdir(exist_ok=True)
        (folder / source.name).write_bytes(source.read_bytes())
    if page.name != "custom-tcp.md":
        (here / "chain.toml").write_text(_core.new_scenario("chain"), encoding="utf-8")
    space: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page):
        where = f"{page}:{block.line}"
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language in ("sh", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                run_line(line, where)
        elif block.language == "python":
            # Sweeps were quick.
            study = 'load_results("study.toml"'
            text = block.text.replace(f"{study})", f"{study}, quick=True)")
            exec(compile(text, where, "exec"), space)


@pytest.mark.parametrize("command", main.commands.values(), ids=main.commands)
def test_the_page_of_the_command_names_every_option(command: click.Command) -> None:
    page = (DOCS / "guide" / "command.md").read_text(encoding="utf-8")
    sections = re.split(r"^## `hopyard ", page, flags=re.MULTILINE)
    (section,) = (each for each in sections if re.match(rf"{command.name}\b", each))
    commands = list(command.commands.values()) if isinstance(command, click.Group) else []
    options = {
        word
        for each in (commands or [command])
        for parameter in each.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for word in [*parameter.opts, *parameter.secondary_opts]
    }
    # A command that has others says their options in its own way.
    told = [section] if commands else re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE)
    found = {word for row in told for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row)}
    assert found >= options if commands else found == options


def test_the_example_of_a_congestion_control_is_fully_typed() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", str(CUSTOM_TCP / "aimd.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel and its pinned dependencies."""
    wheels = list((ROOT / ".venv" / "dev" / "dist").glob("*.whl"))
    assert len(wheels) == 1, "`make test` builds the wheel in .venv/dev/dist/"
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
    ]
    subprocess.run([*pip, "--requirement", ROOT / "requirements" / "run.txt"], check=True)
    subprocess.run([*pip, "--no-index", wheels[0]], check=True)
    return folder / "bin"


def test_pandas_is_not_there(environment: Path) -> None:
    done = subprocess.run([environment / "python", "-c", "import pandas"], capture_output=True)
    assert b"ModuleNotFoundError" in done.stderr


def test_the_python_example_runs_as_printed(environment: Path, tmp_path: Path) -> None:
    (block,) = (each for each in blocks(ROOT / "README.md") if each.language == "python")
    (tmp_path / "readme.py").write_text(block.text, encoding="utf-8")
    done = subprocess.run([environment / "python", "readme.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    means = [line.rpartition(": ")[2].split(" ± ")[0] for line in done.stdout.splitlines()]
    assert len(means) == 4
    # A comparison without a difference would be a bad example.
    assert all(abs(float(mean)) > 1 for mean in means), done.stdout
    assert (tmp_path / "delay.png").stat().st_size > 10_000


def test_the_commands_run_as_printed(environment: Path, tmp_path: Path) -> None:
    (block,) = (each for each in blocks(ROOT / "README.md") if each.language == "sh")
    path = f"{environment}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-e", "-c", block.text], cwd=tmp_path, env={"PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"summary.csv", "goodput.png", "cwnd.png"} <= {each.name for each in (tmp_path / "results").iterdir()}
    assert (tmp_path / "hopyard.json").stat().st_size > 10_000


def test_the_page_of_linux_has_the_figures_of_its_table() -> None:
    path = ROOT / "validation" / "stacks" / "results" / "drawn_held_out.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def counted(conditions: str) -> tuple[int, int, int]:
        found = [row for row in rows if row["conditions"] == conditions]
        assert len(found) == 140
        ordered = [row for row in found if not row["first_in_order"]]
        timed = [row for row in ordered if not row["first_in_time"]]
        ends = [float(row["completion_hopyard_s"]) / float(row["completion_linux_s"]) for row in found]
        return len(ordered), len(timed), sum(abs(it - 1) <= 0.01 for it in ends)

    page = (ROOT / "docs" / "models" / "rack_linux.md").read_text(encoding="utf-8")
    order, time, near = counted("as given")
    assert f"{order} and {time} of 140 as given (completion within 1 %: {near})" in page
    order, time, near = counted("large buffer")
    assert f"{order} and {time} with a large send buffer in Linux ({near})" in page
