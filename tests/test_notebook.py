"""The notebook among the pages."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

GUIDE = Path(__file__).parent.parent / "docs" / "guide"


def test_the_notebook_is_that_of_its_page() -> None:
    spec = importlib.util.spec_from_file_location("notebook", GUIDE / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (GUIDE / "notebook.md").read_text(encoding="utf-8")
    text = (GUIDE / "notebook.ipynb").read_text(encoding="utf-8")
    assert text == module.notebook(page), "python docs/guide/notebook.py makes it again"
    cells = json.loads(text)["cells"]
    code = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
    assert len(code) == page.count("```python\n") > 3
    for each in code:
        ast.parse(each)
    # Nothing of the page is lost.
    rest = page
    for each in cells:
        source = "".join(each["source"])
        assert source in rest
        rest = rest.replace(source, "", 1)
    assert set(rest.split()) == {"```python", "```"}
