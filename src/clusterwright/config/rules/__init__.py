"""What must agree across a finished file: one rule a file, whose function has the file's name.

`cluster/` holds rules of a Cluster, `job/` of a Job, `both/` of a Job on a Cluster. Dropping a file in is the
whole registration. A rule returns clashes; their paths become places where the text is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

from clusterwright.config.rules._clash import Clash, In

__all__ = ["Clash", "In", "clashes"]


def clashes(about: Literal["cluster", "job", "both"], *subjects: Any) -> Iterator[Clash]:
    """What the rules of one folder find, in the order of their names."""
    package = import_module(f"{__name__}.{about}")
    for module in sorted(found.name for found in iter_modules(package.__path__)):
        rule = getattr(import_module(f"{package.__name__}.{module}"), module)
        yield from rule(*subjects)
