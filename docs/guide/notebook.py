"""Makes `notebook.ipynb` of `notebook.md`: `python docs/guide/notebook.py`.

A block of Python becomes a cell of code, and what stands between two blocks a cell of text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE, NOTEBOOK = HERE / "notebook.md", HERE / "notebook.ipynb"


def notebook(text: str) -> str:
    """The notebook of a page, as version 4.5 of the format, without outputs."""
    cells: list[dict[str, object]] = []
    # Every second part is the code of a block.
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)):
        if not part.strip():
            continue
        kind = "code" if number % 2 else "markdown"
        own = {"execution_count": None, "outputs": []} if number % 2 else {}
        source = part.strip().splitlines(keepends=True)
        cells.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, **own, "source": source})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
