"""The names of the tables of a run, and of their files."""

from hopyard import _core

#: The tables of a run, in the core's order.
TABLES = _core.TABLES
#: The tables that are large: those of each run are a Parquet file, which the store names.
FILED = ("series", "segments")
#: The tables whose rows are in the store.
ROWS = tuple(name for name in TABLES if name not in FILED)


def table_files(format: str) -> list[str]:
    """The names of the files of tables in a format."""
    return ["summary.csv", *(f"{name}.{format}" for name in TABLES)]
