"""The names of the tables of a run, and of their files."""

#: The tables of a run, in the order in which the core gives them.
TABLES = (
    *("flows", "nodes", "drops", "series", "decisions"),
    *("overhead", "route_changes", "paths", "segments", "handoffs", "mobile_events", "detours"),
    "programs",
)
#: The tables that are large: those of each run are a Parquet file, which the store names.
FILED = ("series", "segments")
#: The tables whose rows are in the store.
ROWS = tuple(name for name in TABLES if name not in FILED)


def table_files(format: str) -> list[str]:
    """The names of the files of tables in a format."""
    return ["summary.csv", *(f"{name}.{format}" for name in TABLES)]
