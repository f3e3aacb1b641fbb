"""AMD's software on hosts with its GPUs, as packages of its repository."""

from __future__ import annotations

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import Version, Word


class Rocm(Section):
    """The driver and ROCm, in the versions of AMD's repository."""

    version: Version = setting("ROCm.", cost=Cost.DRAIN, example='"6.4.1"')
    driver: Version = setting("The driver's package, amdgpu-dkms.", cost=Cost.REBOOT, example='"6.12.12"')
    repository: Word = setting(
        "Which of `software.repositories` has the packages.", cost=Cost.REBOOT, example="rocm"
    )
