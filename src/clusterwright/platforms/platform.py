"""What is true of one release of a distribution, as far as the program needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Part = Literal["client", "slurmctld", "slurmd", "slurmdbd"]
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """One release of a distribution. Each field has its value in the release's file, or in one that it is `like`.

    The name of a package, unit or path is Debian's; `packages`, `units` and `paths` hold what differs from it.
    """

    name: str  # what `os` of the cluster file says: ubuntu-22.04
    os_release_id: str  # ID of os-release(5)
    os_release_version: str  # VERSION_ID of os-release(5), or its first part

    # where packages come from, and what they are called
    package_manager: Literal["apt", "dnf"]
    uses_epel: bool  # what the distribution itself lacks is in EPEL
    family: Literal["debian", "rhel"]  # whose rows of provision/rdma_packages.csv
    gpu_packages: Literal["debian", "ubuntu", "rhel"]  # whose rows of provision/gpu_packages.csv
    nvidia_repository: (
        str  # NVIDIA's name of it: "Network repository installation" of its driver installation guide
    )
    packages: Mapping[str, Names]  # several, or none, where it divides its packages in another way
    units: Mapping[str, str]
    paths: Mapping[str, str]
    container_runtimes: Names  # those whose packages it has
    has_ganesha: bool

    # Slurm
    slurm: str  # the release that the distribution itself has
    distribution_slurm_packages: Mapping[Part, Names]
    schedmd_slurm_packages: Mapping[Part, Names]  # those that Slurm's own packaging makes
    schedmd_slurm_since: str  # the first release that it makes packages of; any, if empty
    slurm_plugins: str

    # the base system
    default_cgroup: Literal["v1", "v2"]  # what it starts on unless the kernel's command line names the other
    has_cgroup_v1: bool
    delegates_cgroup_controllers: bool  # systemd hands controllers on to slurmd's scope
    kernel_features: tuple[Literal["dma-buf", "peer-memory"], ...]  # what GPUDirect RDMA needs of it
    backports_kernel_features: bool  # the number of its kernel is lower than what the kernel can do
    firewall: Literal["nftables", "firewalld"]
    has_selinux: bool
    has_sshd_folder: bool  # sshd reads /etc/ssh/sshd_config.d
    ntp_pool: str  # what its own chrony.conf names
    chrony_options_variable: str  # what its unit passes to chronyd
    has_chrony_check: bool  # `chronyd -p`
    mariadb_needs_socket_plugin: bool  # accounts are known by their socket only with a plugin

    # monitoring
    has_prometheus: bool
    old_prometheus: str  # its versions, where they are too old for the files that we write
    has_alertmanager_mail_password_file: bool
    node_exporter_web_flag: str  # empty where node_exporter has no TLS
    has_node_exporter_unit: bool  # its package has a unit of one name, with one variable

    # what is made of it elsewhere
    container_image: str
    lab_suite: str  # what mmdebstrap calls it; empty where a lab's hosts cannot run it

    def package_names(self, name: str) -> Names:
        """The packages that hold what Debian's package of that name holds."""
        return self.packages.get(name, (name,))

    def unit(self, name: str) -> str:
        """The unit that Debian calls so."""
        return self.units.get(name, name)

    def path(self, name: str) -> str:
        """The path of what Debian has there."""
        return self.paths.get(name, name)

    def has_slurm(self, version: str) -> bool:
        """True when the distribution itself has the release of that version: 22.05.8 is of 22.05."""
        return version == self.slurm or version.startswith(f"{self.slurm}.")
