"""The base system of every host."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import PackageName
from clusterwright.config.quantities import Size


class System(Section):
    """What of the base system a site decides; what training needs anyway is not asked."""

    hugepages: Size | None = setting(
        "Memory of every compute host kept as 2 MiB pages; none if left out.",
        cost=Cost.REBOOT, default=None, example="16GiB",
    )  # fmt: skip
    governor: Literal["performance", "as-is"] = setting(
        "Frequency governor of the CPUs of compute hosts.",
        cost=Cost.RESTART, default="performance", example="as-is",
    )  # fmt: skip
    swap: bool = setting(
        "Swap on compute hosts: a rank that is swapped out holds up all others.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    journal: Size = setting(
        "Most disk space that the system's journal takes.", default="1GiB", example="2GiB"
    )
    hold: tuple[PackageName, ...] = setting(
        "Packages that are never upgraded by themselves, beyond those of driver, fabric and Slurm.",
        default=(), example="[docker-ce]",
    )  # fmt: skip
