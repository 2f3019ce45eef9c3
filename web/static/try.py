"""What the page "Try it" does with a scenario."""

import io
from pathlib import Path

import hopyard
from hopyard.tables.measures import named


def compare(scenario: str, tcp: str, runs: int, measure: str) -> tuple[str, str]:
    """Runs a scenario with each variant, and gives a table as text, and a plot as SVG.

    Raises:
        hopyard.ScenarioError: when something in the scenario or its settings is wrong.
        ValueError: when there is no such measure, or a number of runs that is none.
    """
    path = Path("scenario.toml")
    path.write_text(scenario, encoding="utf-8")
    variants = [name for name in tcp.replace(",", " ").split() if name]
    results = hopyard.run(path, set={"flow.tcp": variants} if variants else None, runs=runs)
    first, *others = results.cases
    lines = []
    for case in results.cases:
        name = case.settings.get("flow.tcp", case.scenario)
        lines.append(f"{name:<18} {results.estimate(measure, case)}")
    for case in others:
        name, against = (it.settings["flow.tcp"] for it in (case, first))
        lines.append(f"{name} minus {against}: {results.difference(measure, case, first)}")
    title = f"{named(measure).title}: mean and 95 % interval of {runs} runs, {named(measure).unit}".rstrip(", ")
    picture = io.StringIO()
    results.plot(measure).savefig(picture, format="svg")
    return "\n".join([title, *lines]), picture.getvalue()
