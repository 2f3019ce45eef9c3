"""Pages of the site: what a reader of a narrow page sees of a table."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path

import browser
import pytest

WEB = Path(__file__).parent.parent / "web"
STYLE = (WEB / "static" / "hopyard.css").as_uri()
#: A table of parameters as Sphinx writes it, and one of measures.
ROW = '<td><code><span class="pre">{}</span></code></td>'
PAGE = f"""<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="{STYLE}"><style>
* {{ box-sizing: border-box; }} body {{ margin: 0; }} table {{ border-collapse: collapse; }}
.pre {{ white-space: nowrap; }}</style><article class="bd-article">
<table class="meanings parameters"><thead><tr><th>parameter</th><th>rfc</th><th>ns2</th><th>uu</th><th>values</th>
<th>meaning</th></tr></thead><tbody><tr>{ROW.format("drop_mismatched_requests")}{ROW.format('"link_layer"') * 3}
<td><p>a time such as "10 ms" or "360 s", up to 50 years</p></td><td><p>How long a broken link is ignored.</p></td></tr>
</tbody></table><table class="meanings"><thead><tr><th>name</th><th>unit</th><th>meaning</th></tr></thead><tbody><tr>
{ROW.format("routing_packets_per_second")}<td>1/s</td><td><p>{"Packets of the routing protocol. " * 6}</p></td></tr>
</tbody></table></article>"""


@pytest.mark.skipif(browser.found() is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [640, 390])
def test_meanings_are_within_a_narrow_page(width: int, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    with browser.Browser(tmp_path / "profile", width, 900) as window:
        window.go((tmp_path / "page.html").as_uri())
        window.until("document.readyState === 'complete' && document.querySelectorAll('td').length === 9")
        shown = "[...document.querySelectorAll('td, .pre, td p')].map(it => it.getBoundingClientRect())"
        assert window.value(f"Math.max(...{shown}.map(it => it.right))") <= width
        # The texts of a parameter are below its name, the meaning first, and as wide as the page.
        cells = window.value(
            "[...document.querySelectorAll('.parameters td')].map(it => it.getBoundingClientRect().top)"
        )
        assert cells[0] < cells[5] < cells[4]
        assert window.value("document.querySelectorAll('.parameters td')[5].clientWidth") > 0.9 * width
        # No code covers the code beside it.
        codes = window.value(
            f"{shown.replace('td, .pre, td p', '.parameters .pre')}.map(it => [it.top, it.left, it.right])"
        )
        assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(codes))


def test_tables_with_meanings_are_marked() -> None:
    pytest.importorskip("sphinx")
    from docutils import nodes
    from docutils.utils import new_document

    spec = importlib.util.spec_from_file_location("conf", WEB / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    page = new_document("page")
    for heads in (["parameter", "default", "values", "meaning"], ["name", "unit", "meaning"], ["case", "runs"]):
        row = nodes.row("", *(nodes.entry("", nodes.paragraph("", head)) for head in heads))
        page += nodes.table("", nodes.tgroup("", nodes.thead("", row), cols=len(heads)))
    for table in page.findall(nodes.paragraph):
        table += nodes.Text(table.rawsource)
    conf.mark(None, page)
    assert [table["classes"] for table in page.findall(nodes.table)] == [["meanings", "parameters"], ["meanings"], []]
