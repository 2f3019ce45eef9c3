"""What a release has: one version everywhere, the digests of every system, workflows, the site and its pages."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import browser
import digests
import hopyard
import hopyard_kernels
import pytest

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
CHECK = runpy.run_path(str(ROOT / "release" / "check.py"))
#: The scenario of the page "Try it".
SCENARIO = re.compile(r"<textarea[^>]*>\n(.*?)</textarea>", re.DOTALL)


def test_every_file_names_the_same_version() -> None:
    CHECK["versions"]()
    assert hopyard.__version__ == hopyard_kernels.__version__ == CHECK["version"]()


def test_the_digests_are_those_of_every_system(capsys: pytest.CaptureFixture[str]) -> None:
    code = digests.main(["--check"])
    assert code == 0, capsys.readouterr().out


def test_a_digest_that_differs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: scenario for name, scenario in digests.cases().items() if name in ("new chain", "new wired")}
    monkeypatch.setattr(digests, "cases", lambda: few)
    monkeypatch.setattr(digests, "FILE", tmp_path / "digests.csv")
    digests.main(["--write"])
    assert digests.main(["--check"]) == 0
    written = digests.FILE.read_text().replace("new wired,", "new wired,0")
    digests.FILE.write_text(written + "gone,0123\n")
    capsys.readouterr()
    assert digests.main(["--check"]) == 1
    told = capsys.readouterr().out
    assert "new wired: expected 0" in told
    assert "gone: expected 0123, found None" in told
    assert "1 of 2 digests are the same" in told


def test_every_picture_of_the_gallery_has_its_command() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert re.search(r"^!\[", section, re.MULTILINE), section
        assert re.search(r"^```text\nhopyard ", section, re.MULTILINE), section
    shown = {(ROOT / "docs" / path).resolve() for path in re.findall(r"\]\(([^)]*\.png)\)", text)}
    there = {*(ROOT / "docs" / "images").glob("*.png"), *(ROOT / "studies").glob("*/results/*.png")}
    assert shown == there
    for study in sorted({path.parent.parent for path in shown if "studies" in path.parts}):
        assert f"hopyard report studies/{study.name}\n" in text
        figures = {figure["name"] for figure in tomllib.loads((study / "study.toml").read_text("utf-8"))["figure"]}
        assert {path.stem for path in shown if path.is_relative_to(study)} <= figures


def test_the_workflows_have_no_mistake_that_actionlint_knows() -> None:
    if shutil.which("actionlint") is None:
        pytest.skip("there is no actionlint")
    CHECK["workflows"]()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built without a warning."""
    if importlib.util.find_spec("sphinx") is None or importlib.util.find_spec("myst_parser") is None:
        pytest.skip("sphinx is not installed")
    place = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--conf-dir", str(WEB)]
    done = subprocess.run(
        [*line, "--doctree-dir", str(place / "trees"), str(ROOT), str(place / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place / "site"


def test_the_site_has_its_pages(site: Path) -> None:
    page = (site / "docs" / "start" / "install.html").read_text(encoding="utf-8")
    assert 'href="../guide/studies.html"' in page
    assert "hopyard.run" in (site / "web" / "api.html").read_text(encoding="utf-8")
    for only in ("api", "try"):
        assert f'href="../../web/{only}.html"' in page
    # A blank line ends most blocks of HTML in Markdown: a scenario in such a block becomes text of the page.
    written, shown = (
        (place / f"try.{kind}").read_text("utf-8") for place, kind in ((WEB, "md"), (site / "web", "html"))
    )
    assert SCENARIO.findall(shown) == SCENARIO.findall(written)


def test_the_site_is_searched_without_a_server(site: Path, tmp_path: Path) -> None:
    if browser.found() is None:
        pytest.skip("there is no Chromium")
    with browser.Browser(tmp_path, 1280, 800) as page:
        page.go(f"{(site / 'search.html').as_uri()}?q=westwood")
        page.until("document.querySelector('#search-results .search-summary')?.textContent.includes('found')")
        found = page.value("[...document.querySelectorAll('#search-results li a')].map(it => it.getAttribute('href'))")
    assert any(address.startswith("docs/models/westwood.html") for address in found), found
    assert not [address for address in found if not (site / address.partition("?")[0].partition("#")[0]).is_file()]


@pytest.mark.usefixtures("here")
def test_the_page_that_runs_a_scenario_gives_a_table_and_a_plot() -> None:
    compare = runpy.run_path(str(WEB / "static" / "try.py"))["compare"]
    (scenario,) = SCENARIO.findall((WEB / "try.md").read_text(encoding="utf-8"))
    table, plot = compare(scenario, "newreno, vegas", 2, "goodput")
    lines = table.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["newreno", "vegas", "vegas"]
    assert lines[0] == "Goodput: mean and 95 % interval of 2 runs, kbit/s"
    assert lines[3].startswith("vegas minus newreno: ")
    assert plot.lstrip().startswith("<?xml")
    with pytest.raises(hopyard.ScenarioError, match="vegsa"):
        compare(scenario, "vegsa", 1, "goodput")
    one, _ = compare(scenario, "", 1, "delay")
    assert len(one.splitlines()) == 2


def test_the_scripts_of_the_site_can_be_read() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    for script in sorted((WEB / "static").glob("*.js")):
        subprocess.run([node, "--check", script], check=True, capture_output=True)
