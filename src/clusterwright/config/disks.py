"""Local disks of a host, and what is made of them."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostPath
from clusterwright.config.quantities import Size
from clusterwright.config.storage import Quota


class Disk(Section):
    """Local disks of one kind in a host."""

    kind: Literal["nvme", "ssd", "hdd"] = setting(
        "What they are.", cost=Cost.DRAIN, default="nvme", example="nvme"
    )
    count: int = setting("How many.", cost=Cost.DRAIN, default=1, example="4", least=1, most=128)
    size: Size = setting("Size of one.", cost=Cost.DRAIN, example="3.84TB")
    mount: HostPath | None = setting(
        "Where a job finds them as scratch.", cost=Cost.DRAIN, default=None, example="/scratch"
    )
    filesystem: Literal["xfs", "ext4"] | None = setting(
        "Made by us, on disks that are empty; left out: the site has made it, and mounts it.",
        cost=Cost.REBUILD, default=None, example="xfs",
    )  # fmt: skip
    raid: Literal["none", 0, 10] = setting(
        "How the disks become one: 0 is fastest and is lost with any of them, 10 keeps everything twice, for"
        " metadata and what must last; none for a single disk.",
        cost=Cost.REBUILD, default="none", example="0",
    )  # fmt: skip
    quota: Quota | None = setting("Quotas, on a file system that we make.", default=None)
