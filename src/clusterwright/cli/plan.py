"""`wright plan`: one file per command in cli/_plan."""

from __future__ import annotations

import pkgutil
from pathlib import Path

from cyclopts import App, Parameter

from clusterwright.cli._listing import one_line

plan = App(
    name="plan",
    help="What to buy, how to cut the model, what it costs and how fast it will be.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)
_FOLDER = Path(__file__).with_name("_plan")


def listed() -> list[tuple[str, str]]:
    """Every command of `wright plan` and what it does, in one line."""
    names = sorted(
        found.name for found in pkgutil.iter_modules([str(_FOLDER)]) if not found.name.startswith("_")
    )
    return [(name, one_line(str(_FOLDER), name)) for name in names]


for _name, _line in listed():
    plan.command(f"clusterwright.cli._plan.{_name}:{_name}", name=_name, help=_line)
