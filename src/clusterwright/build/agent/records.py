"""Rows that a daemon keeps: looked at and changed by the daemon's own program, after the units.

Standard library only, Python 3.6 or later.
"""

from typing import List

from clusterwright.build.agent.host import Json


def look(_resource: Json) -> List[Json]:
    """One change for each row that is not as wanted."""
    return []


def do(_resource: Json, changes: List[Json]) -> None:
    """Make the changes, in their order."""
    for change in changes:
        change["done"] = True
