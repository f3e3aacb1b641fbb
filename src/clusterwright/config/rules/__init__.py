"""What must agree across a finished file: one module a part of it, in which every public function is a rule.

`cluster/` holds rules of a Cluster, `job/` of a Job, `job_cluster/` of a Job on a Cluster. Adding a function is the
whole registration. A rule returns clashes; their paths become places where the text is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from inspect import getmembers, isfunction
from pkgutil import iter_modules
from typing import Any, Literal

from clusterwright.config.clash import Clash

__all__ = ["clashes", "rules_about"]


About = Literal["cluster", "job", "job_cluster"]


def clashes(about: About, *subjects: Any) -> Iterator[Clash]:
    """What the rules of one folder find, in the order of their names."""
    for _, rule in sorted(rules_about(about).items()):
        yield from rule(*subjects)


@cache
def rules_about(about: About) -> dict[str, Callable[..., Iterator[Clash]]]:
    """The public functions of a folder's modules, by name."""
    package = import_module(f"{__name__}.{about}")
    modules = [
        import_module(f"{package.__name__}.{module_info.name}")
        for module_info in iter_modules(package.__path__)
    ]
    return {
        name: function
        for module in modules
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
