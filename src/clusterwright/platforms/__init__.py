"""The distributions that hosts run, one file per release; nothing outside this folder knows one by its name."""

from clusterwright.platforms.platform import Part, Platform
from clusterwright.platforms.registry import (
    DEFAULT,
    EXAMPLE,
    names_by_os_release,
    platform,
    platform_names,
    platforms,
)

__all__ = [
    "DEFAULT",
    "EXAMPLE",
    "Part",
    "Platform",
    "names_by_os_release",
    "platform",
    "platform_names",
    "platforms",
]
