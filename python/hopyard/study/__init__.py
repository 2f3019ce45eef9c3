"""Studies: a file that names a base scenario, axes, measures, tables, figures and claims.

`file` reads and checks the file, `points` makes its cases, `measures` gives one number a run,
`tables` puts them together.
"""

from hopyard.study.file import Study, StudyError
from hopyard.study.parsing import load

__all__ = ["Study", "StudyError", "load"]
