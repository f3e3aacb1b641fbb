"""`wright plan`: one module per command, named after the command; a module that starts with _ is no command."""

from __future__ import annotations

import pkgutil

from cyclopts import App, Parameter

from clusterwright.cli._listing import summary_line

plan = App(
    name="plan",
    help="Plan a cluster or a training: size, parallel layout, speed, network, storage, power and cost.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


def listed() -> list[tuple[str, str]]:
    """Return every command of `wright plan` and its summary line."""
    names = sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )
    return [(name, summary_line(__path__[0], name)) for name in names]


for _name, _line in listed():
    plan.command(f"{__name__}.{_name}:{_name}", name=_name, help=_line)
