"""The supported distributions, one file per release; no code outside this folder refers to one by name."""

from clusterwright.platforms.platform import Part, Platform
from clusterwright.platforms.registry import (
    DEFAULT,
    EXAMPLE,
    names_by_os_release,
    platform,
    platform_names,
    platforms,
)
from clusterwright.platforms.replaced import replaced

__all__ = [
    "DEFAULT",
    "EXAMPLE",
    "Part",
    "Platform",
    "names_by_os_release",
    "platform",
    "platform_names",
    "platforms",
    "replaced",
]
