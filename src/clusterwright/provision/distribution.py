"""What distributions call things: packages, units and paths by the name that we use for them.

The name is Debian's, and Ubuntu's; `distributions.csv` tells where Rocky and Alma differ. What Slurm's packages are
called depends on who made them as well: the distribution, or Slurm's own packaging.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.config.distributions import has_own, is_rhel_kind
from clusterwright.provision.resources import Package

Family = Literal["debian", "rhel"]
Part = Literal["client", "slurmctld", "slurmd", "slurmdbd"]

_TABLE = Path(__file__).with_name("distributions.csv")
# Slurm's tree: debian/control (since 23.11) and slurm.spec. EPEL's spec uses the names of the latter.
_DEB = {"client": ("slurm-smd", "slurm-smd-client"), "slurmctld": ("slurm-smd-slurmctld",),
        "slurmd": ("slurm-smd-slurmd",), "slurmdbd": ("slurm-smd-slurmdbd",)}  # fmt: skip
_RPM = {"client": ("slurm",), "slurmctld": ("slurm-slurmctld",), "slurmd": ("slurm-slurmd",),
        "slurmdbd": ("slurm-slurmdbd",)}  # fmt: skip
# Debian's and Ubuntu's own.
_OWN_DEB = {"client": ("slurm-client",), "slurmctld": ("slurmctld",), "slurmd": ("slurmd",),
            "slurmdbd": ("slurmdbd",)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution and release, as the cluster file's `os` names it: `ubuntu-22.04`."""

    name: str

    @property
    def family(self) -> Family:
        """Which package manager, which names."""
        return "rhel" if is_rhel_kind(self.name) else "debian"

    @property
    def has_sshd_folder(self) -> bool:
        """True where sshd reads /etc/ssh/sshd_config.d (OpenSSH 8.2 and later; RHEL 8 has 8.0)."""
        return self.name not in {"rocky-8", "alma-8"}

    def package(self, name: str) -> str:
        """What this one calls the package that Debian calls so."""
        return self._called("package", name)

    def unit(self, name: str) -> str:
        """What this one calls the unit that Debian calls so."""
        return self._called("unit", name)

    def path(self, name: str) -> str:
        """Where this one has the file that Debian has there."""
        return self._called("path", name)

    def word(self, name: str) -> str:
        """A word of a file that differs, such as the name of a variable."""
        return self._called("word", name)

    def _called(self, kind: str, name: str) -> str:
        return _rhel_names().get((kind, name), name) if self.family == "rhel" else name


def distribution(cluster: Cluster) -> Distribution:
    """The one that the cluster's hosts run."""
    return Distribution(cluster.os)


def slurm_packages(cluster: Cluster, part: Part) -> tuple[Package, ...]:
    """The packages of one part of Slurm, of the release that the file names."""
    version, maker = cluster.software.slurm, cluster.software.slurm_packages
    theirs = has_own(cluster.os, version) if maker == "auto" else maker == "distribution"
    own_deb = distribution(cluster).family == "debian" and theirs
    names = (_RPM if is_rhel_kind(cluster.os) else _OWN_DEB if own_deb else _DEB)[part]
    return tuple(Package(name=name, version=version) for name in names)


@cache
def _rhel_names() -> dict[tuple[str, str], str]:
    """The table by kind and Debian's name."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {(row["kind"], row["name"]): row["rhel"] for row in csv.DictReader(file)}
