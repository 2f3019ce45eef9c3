"""The configuration of Sphinx: the pages of the repository as a site.

The pages are written for the repository, where a link may lead to any file. Here a link to a page stays one, and a link
to any other file leads to the repository. A link that leads nowhere is a warning, and so is a page without a title.
A warning ends `make site`.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers
from sphinx.util import logging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/hopyard/hopyard"

project = "Hopyard"
author = "The Hopyard developers"
project_copyright = author
release = re.findall(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)[0]
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
#: All pages of the project. Programs and results that lie among them are no pages.
include_patterns = [
    "*.md",
    *(f"{folder}/**.md" for folder in ("bench", "docs", "fuzz", "kernels", "studies", "validation", "web")),
]
exclude_patterns = [".*", "target", "**/target", "results", "dist", "demo-results", "docs/guide/custom-tcp"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
# Pages that only others link to stand in no list of contents.
suppress_warnings = ["toc.not_included", "myst.header"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autoclass_content = "both"
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "Hopyard"
html_theme_options = {
    "github_url": REPOSITORY,
    "header_links_before_dropdown": 3,
    "navigation_with_keys": True,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Beside each page stand all pages, by chapters.
html_sidebars = {"**": ["globaltoc.html"]}
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sourcelink = False
# The address of the site leads to docs/index.html.
html_extra_path = ["root"]
html_static_path = ["static"]
html_css_files = ["hopyard.css"]

# Pygments has no name for this.
lexers["csv"] = TextLexer()

#: The pages that only the site has.
SITE_ONLY = "\n```{toctree}\n:hidden:\n:caption: On this site\n\n/web/api\n/web/try\n```\n"

LINK = re.compile(r"(?P<before>!?\[[^\]]*\]\()(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
#: Code, whose brackets are no links.
CODE = re.compile(r"^(?P<fence>```+).*?^(?P=fence)|`[^`\n]+`", re.MULTILINE | re.DOTALL)
log = logging.getLogger(__name__)


def links(text: str) -> Iterator[re.Match[str]]:
    """The links of a page to files, in order."""
    code = [match.span() for match in CODE.finditer(text)]
    for match in LINK.finditer(text):
        is_file = "://" not in match["target"] and not match["target"].startswith("mailto:")
        if is_file and not any(begin <= match.start() < end for begin, end in code):
            yield match


def contents(index: str) -> str:
    """The lists of contents: for each section of docs/index.md the links of its tables.

    A row of more than one link in its second column is a list of its own, with the first column as its caption.
    """
    found = []
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        rows = [row.strip("|").split("|", 1) for row in text.splitlines() if row.startswith("| ")][1:]
        plain = [match for first, _ in rows for match in links(first)]
        found.append(_toctree(title, plain))
        found += [_toctree(first.strip(), list(links(second))) for first, second in rows if not list(links(first))]
    return "".join(found)


def _toctree(caption: str, entries: list[re.Match[str]]) -> str:
    pages = dict.fromkeys(it["target"] for it in entries if it["target"].endswith(".md"))
    lines = "".join(f"{posixpath.splitext(it)[0]}\n" for it in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}```\n" if pages else ""


def read(app: Sphinx, name: str, text: list[str]) -> None:
    """Leads the links of a page to other files than pages and pictures to the repository."""
    folder = (ROOT / f"{name}.md").parent
    page = text[0]
    if not re.search(r"^# ", page, re.MULTILINE):
        log.warning("the page has no title: expected a line that begins with '# '", location=name)
    for match in reversed(list(links(page))):
        path = Path(posixpath.normpath(folder / match["target"]))
        inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) and path.exists() else None
        if inside is None:
            log.warning("the link to %s leads nowhere", match["target"], location=name)
            continue
        is_page = path.suffix == ".md" and posixpath.splitext(inside)[0] in app.env.found_docs
        if is_page or match["before"].startswith("!"):
            continue
        there = f"{REPOSITORY}/{'tree' if path.is_dir() else 'blob'}/main/{inside}{match['anchor'] or ''}"
        page = page[: match.start()] + f"{match['before']}{there})" + page[match.end() :]
    if name == root_doc:
        page += contents(page) + SITE_ONLY
    elif name == "web/api":
        page += api()
    text[0] = page


def api() -> str:
    """Each public name of the package, with its docstring."""
    tree = ast.parse((ROOT / "python" / "hopyard" / "__init__.py").read_text(encoding="utf-8"))
    (homes,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES"
    )
    lines = []
    for name, home in homes.items():
        if name[0].isupper():
            lines += [f".. autoclass:: hopyard.{home}.{name}", "   :members:", ""]
        elif not name.startswith("_"):
            lines += [f".. autofunction:: hopyard.{home}.{name}", ""]
    return "\n```{eval-rst}\n" + "\n".join(lines) + "```\n"


def mark(_app: Sphinx, page: nodes.document) -> None:
    """Gives tables with a column of meanings classes: where a page is narrow, the meanings have lines of their own."""
    for table in page.findall(nodes.table):
        heads = [entry.astext() for head in table.findall(nodes.thead) for entry in head.findall(nodes.entry)]
        if heads[-1:] == ["meaning"]:
            table["classes"] += ["meanings", "parameters"] if heads[0] == "parameter" else ["meanings"]


def setup(app: Sphinx) -> None:
    """Registers the functions of this file."""
    app.connect("source-read", read)
    app.connect("doctree-read", mark)
