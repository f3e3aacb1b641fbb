"""NVIDIA's software on hosts with GPUs, as packages of its repository."""

from __future__ import annotations

from typing import Literal

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import Version, Word


class Nvidia(Section):
    """What is installed beside `software.driver`, `cuda`, `cudnn` and `nccl`; those are packages once this is there."""

    repository: Word | None = setting(
        "Which of `software.repositories` has the packages; needed but in a lab, which serves its own.",
        cost=Cost.REBOOT, default=None, example="nvidia",
    )  # fmt: skip
    kernel_modules: Literal["auto", "open", "proprietary"] = setting(
        "Kernel modules of the driver; auto: the open ones wherever the GPUs know them (Turing and later).",
        cost=Cost.REBOOT, default="auto", example="open",
    )  # fmt: skip
    fabric_manager: Literal["auto", "always", "never"] = setting(
        "Fabric manager, in the driver's version; auto: where NVSwitches join the GPUs.",
        cost=Cost.DRAIN, default="auto", example="always",
    )  # fmt: skip
    persistence: bool = setting(
        "The driver stays loaded between jobs (nvidia-persistenced).",
        cost=Cost.DRAIN, default=True, example="false",
    )  # fmt: skip
    dcgm: Version | None = setting(
        "NVIDIA's data centre GPU manager; none if left out.",
        cost=Cost.DRAIN, default=None, example='"4.4.1"',
    )  # fmt: skip
    container_toolkit: Version | None = setting(
        "What gives GPUs to containers; none if left out.",
        cost=Cost.DRAIN, default=None, example='"1.18.0"',
    )  # fmt: skip
