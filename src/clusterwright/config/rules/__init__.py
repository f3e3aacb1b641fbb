"""Rules about a whole file, one module for each topic; every public function of these modules is a rule.

`cluster/` has rules about a Cluster, `job/` about a Job, `job_cluster/` about a Job on a Cluster. A new public
function is a registered rule. A rule yields clashes (contradicting values); `load` converts their paths into places of
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from inspect import getmembers, isfunction
from itertools import islice
from pkgutil import iter_modules
from typing import Any, Literal

from clusterwright.config.clash import Clash

__all__ = ["clashes", "rules_about"]


MOST_CLASHES = 100  # of one rule; a thousand values that contradict each other are half a million pairs
About = Literal["cluster", "job", "job_cluster"]


def clashes(about: About, *subjects: Any) -> Iterator[Clash]:
    """Run the rules of one folder, in the order of their names, and yield the first MOST_CLASHES of each."""
    for _, rule in sorted(rules_about(about).items()):
        yield from islice(rule(*subjects), MOST_CLASHES)


@cache
def rules_about(about: About) -> dict[str, Callable[..., Iterator[Clash]]]:
    """Return the rules of a folder, by function name."""
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
