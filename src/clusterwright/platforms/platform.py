"""The releases of distributions: one TOML file each in this folder, named like the `os` of a cluster file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Part = Literal["client", "slurmctld", "slurmd", "slurmdbd", "pam_slurm_adopt"]
Names = tuple[str, ...]
RELEASES = Path(__file__).parent
FAMILIES = RELEASES / "families"  # values that releases share

DEFAULT, EXAMPLE = "debian-12", "ubuntu-22.04"  # values of `os` in a cluster file


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """One release of a distribution; values come from its TOML file, or from the file that its key `like` names.

    Code uses Debian's names of packages, units and paths; `packages`, `units` and `paths` map them where they differ.
    """

    name: str  # the value of `os` in the cluster file: ubuntu-22.04
    os_release_id: str  # ID of os-release(5)
    os_release_version: str  # VERSION_ID of os-release(5), or its first part

    # package sources and names
    package_manager: Literal["apt", "dnf"]
    uses_epel: bool  # additional packages come from EPEL
    family: Literal["debian", "rhel"]  # selects rows of provision/rdma_packages.csv
    gpu_packages: Literal["debian", "ubuntu", "rhel"]  # selects rows of provision/gpu_packages.csv
    nvidia_repository: str  # name in "Network repository installation" of NVIDIA's driver installation guide
    packages: Mapping[str, Names]  # several or no names where packages are split differently
    units: Mapping[str, str]
    paths: Mapping[str, str]
    container_runtimes: Names  # those with packages
    has_ganesha: bool

    # Slurm
    slurm: str  # the release in the distribution
    distribution_slurm_packages: Mapping[Part, Names]
    schedmd_slurm_packages: Mapping[Part, Names]  # built with Slurm's own packaging
    schedmd_slurm_since: str  # the first release with such packages; empty: any
    slurm_plugins: str

    # the base system
    default_cgroup: Literal["v1", "v2"]  # without a kernel parameter that selects the other
    has_cgroup_v1: bool
    delegates_cgroup_controllers: bool  # systemd delegates controllers to slurmd's scope
    kernel_features: tuple[Literal["dma-buf", "peer-memory"], ...]  # for GPUDirect RDMA
    backports_kernel_features: bool  # the kernel has features newer than its version
    firewall: Literal["nftables", "firewalld"]
    has_selinux: bool
    has_sshd_folder: bool  # sshd reads /etc/ssh/sshd_config.d
    ntp_pool: str  # in the distribution's chrony.conf
    chrony_options_variable: str  # environment variable that its unit passes to chronyd
    has_chrony_check: bool  # `chronyd -p`
    mariadb_needs_socket_plugin: bool  # unix_socket authentication needs a plugin

    # monitoring
    has_prometheus: bool
    old_prometheus: str  # names and versions, where they are too old for our configuration files
    has_alertmanager_mail_password_file: bool
    node_exporter_web_flag: str  # empty where node_exporter has no TLS
    has_node_exporter_unit: bool  # its package has a unit with one environment variable for options

    # container images and lab
    container_image: str
    cuda_image: (
        str  # end of the tag of NVIDIA's CUDA images for it: that of another distribution if it has none
    )
    pythons: Names  # Pythons of the distribution that can run trainings, the newest first
    lab_suite: str  # suite for mmdebstrap; empty where lab hosts cannot run it

    def package_names(self, name: str) -> Names:
        """Return the packages of this release for a package name of Debian; the name itself where nothing differs."""
        return self.packages.get(name, (name,))

    def unit(self, name: str) -> str:
        """Return the systemd unit of this release for a unit name of Debian; the name itself where nothing differs."""
        return self.units.get(name, name)

    def path(self, name: str) -> str:
        """Return the path on this release for a path on Debian; the path itself where nothing differs."""
        return self.paths.get(name, name)

    def has_slurm(self, version: str) -> bool:
        """Whether the distribution has the Slurm release of that version; 22.05.8 is a version of 22.05."""
        return version == self.slurm or version.startswith(f"{self.slurm}.")


def platform_names() -> tuple[str, ...]:
    """Return the names of all supported distribution releases, sorted."""
    return tuple(sorted(file.stem for file in RELEASES.glob("*.toml")))


@cache
def platform(name: str) -> Platform:
    """Load a distribution release by its name, such as `rocky-9`.

    Raises:
        FileNotFoundError: no file has that name.
        TypeError: a field is missing, or unknown.
    """
    return Platform(name=name, **_frozen(_values(name)))


def platforms() -> tuple[Platform, ...]:
    """Load all supported distribution releases, in the order of their names."""
    return tuple(map(platform, platform_names()))


@cache
def names_by_os_release() -> dict[str, str]:
    """Release names by ID and VERSION_ID of os-release(5): `almalinux-9` is alma-9."""
    return {f"{release.os_release_id}-{release.os_release_version}": release.name for release in platforms()}


def _values(name: str) -> dict[str, Any]:
    """Read the file of a release, else of a family, and merge it over the file that its key `like` names.

    Tables merge key by key, not deeper.
    """
    file = f"{name}.toml"
    folder = RELEASES if (RELEASES / file).exists() else FAMILIES
    values = tomllib.loads((folder / file).read_text(encoding="utf-8"))
    base = _values(values.pop("like")) if "like" in values else {}
    joined = {
        key: base[key] | value for key, value in values.items() if isinstance(value, dict) and key in base
    }
    return base | values | joined


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, also within tables; lists inside lists stay."""
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value
