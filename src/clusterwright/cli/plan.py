"""`wright plan predict|explain|search|size|fabric|storage|cost`; one file per command in cli/_plan."""

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
for _module in sorted(pkgutil.iter_modules([str(_FOLDER)]), key=lambda module: module.name):
    if not _module.name.startswith("_"):
        plan.command(
            f"clusterwright.cli._plan.{_module.name}:{_module.name}",
            name=_module.name,
            help=one_line(str(_FOLDER), _module.name),
        )
