"""The supported distributions, one file per release; no code outside this folder refers to one by name."""

from clusterwright.platforms.platform import (
    DEFAULT,
    EXAMPLE,
    Part,
    Platform,
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
