"""The command starts at once: it imports only what it needs."""

import signal
import sys
from pathlib import Path

import kills
import pytest
from short import python

HEAVY = {"matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy"}


def _imported(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(python("-c", program, check=True).stdout.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"], ["schema"]])
def test_commands_that_show_text_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"from hopyard.cli.main import main\nmain({arguments!r}, standalone_mode=False)"
    assert not _imported(code) & HEAVY


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not _imported("import hopyard") & (HEAVY | {"click"})


def test_importing_the_package_imports_no_other_module() -> None:
    code = "before = set(sys.modules)\nimport hopyard\nprint(set(sys.modules) - before)"
    assert python("-c", f"import sys\n{code}", check=True).stdout == "{'hopyard'}\n"


#: Runs the command as `python -m` does, and sends Ctrl-C when so many modules are imported. The
#: first is `hopyard.__main__`, whose first line has not been run yet.
INTERRUPTED = """
import os, runpy, signal, sys
class Finder:
    left = int(sys.argv.pop(1))
    def find_spec(self, name, path=None, target=None):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
import hopyard, hopyard.startup
sys.meta_path.insert(0, Finder())
runpy.run_module("hopyard", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("number", [2, 3, 5, 10, 20, 40, 60])
def test_ctrl_c_while_the_command_is_imported_gives_no_traceback(number: int) -> None:
    process = kills.start([sys.executable, "-c", INTERRUPTED, str(number), "run", "none.toml"])
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) in [(-signal.SIGINT, ""), (128 + signal.SIGINT, "Interrupted.\n")]


@pytest.mark.parametrize("number", kills.ENDING)
def test_children_of_the_tests_do_not_inherit_ignored_signals(number: signal.Signals) -> None:
    code = "import os, signal, sys; os.kill(os.getpid(), int(sys.argv[1])); signal.pause()"
    former = signal.signal(number, signal.SIG_IGN)
    try:
        process = kills.start([sys.executable, "-c", code, str(int(number))])
        process.communicate(timeout=60)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, former)
    assert process.returncode == -number


def _imported_by_the_command(folder: Path, *arguments: str) -> set[str]:
    done = python("-X", "importtime", "-m", "hopyard", *arguments, check=True, cwd=folder)
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


def test_commands_import_what_they_need_and_no_more(tmp_path: Path) -> None:
    scenario = Path(__file__).parent.parent / "examples" / "chain.toml"
    short = ["--set", "duration=2 s", "--set", "measure.from=1 s", "--runs", "2"]
    run = _imported_by_the_command(tmp_path, "run", str(scenario), *short, "--out", "results")
    show = _imported_by_the_command(tmp_path, "show", "results")
    plot = _imported_by_the_command(tmp_path, "plot", "results")
    # These imports would take most of the time of a short run.
    unneeded = {"pandas.core.api", "polars", "scipy", "pyarrow.dataset", "pyarrow.pandas_compat"}
    # These cost as much as all that is needed beside the runs.
    costly = {"matplotlib", "pyarrow.compute", "pyarrow._compute", "numpy.ma", "numpy.typing"}
    costly |= {"numpy.random", "pydoc", "IPython", "rich.progress", "asyncio", "multiprocessing"}
    costly |= {"dateutil", "difflib", "tempfile"}
    assert {"pyarrow"} <= run & show & plot
    assert run & (unneeded | costly) == set()
    assert show & (unneeded | costly) == set()
    assert plot & (unneeded | {"matplotlib.pyplot", "pyarrow.acero"}) == set()


#: Runs the command and prints how often the collector of cyclic garbage has looked for some.
COLLECTED = """
import atexit, gc, sys
atexit.register(lambda: print(sum(each["collections"] for each in gc.get_stats())))
from hopyard.__main__ import main
main()
"""


def test_the_collector_hardly_looks_through_what_was_imported() -> None:
    scenario = Path(__file__).parent.parent / "examples" / "chain.toml"
    short = ["--set", "duration=2 s", "--set", "measure.from=1 s", "--quiet"]
    done = python("-c", COLLECTED, "run", scenario, *short, check=True)
    # By default it does so every 700 new objects, 70 times or more.
    assert int(done.stdout) < 10


def test_the_command_imports_few_modules_to_show_its_version() -> None:
    code = "from hopyard.cli.main import main\nmain(['--version'], standalone_mode=False)\nprint(len(sys.modules))"
    done = python("-c", f"import sys\n{code}", check=True)
    # Python 3.11 and click have 134; numpy alone would add 96.
    assert int(done.stdout.splitlines()[-1]) < 200


def test_every_public_name_is_there() -> None:
    import hopyard

    for name in hopyard.__all__:
        assert getattr(hopyard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        hopyard.rnu  # noqa: B018 - looking is what is tested
