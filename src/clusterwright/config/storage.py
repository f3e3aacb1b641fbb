"""Shared folders, one class per kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostPath, Identifier, MountOption, PackageName, ServerName
from clusterwright.config.quantities import Size


class Quota(Section):
    """The most that one user, and one team together, may keep; what is there already stays."""

    user: Size | None = setting("Most of one user; no limit if left out.", default=None, example="1TB")
    team: Size | None = setting(
        "Most of all files of one team's Unix group; no limit if left out.", default=None, example="10TB"
    )


class _Folder(Section):
    path: HostPath = setting("Where every host sees it.", cost=Cost.DRAIN, example="/shared")
    size: Size | None = setting("Its capacity, for planning and checks.", default=None, example="100TB")
    free: Size = setting("Less free space than this is a fault.", default="1GiB", example="500GB")


class Nfs(_Folder):
    """A folder served over NFS by a host of the cluster or by another server."""

    kind: Literal["nfs"] = setting("Served over NFS.", cost=Cost.DRAIN, example="nfs")
    server: ServerName = setting(
        "Host of the cluster, or of the site, that serves it.", cost=Cost.DRAIN, example="control"
    )
    export: HostPath | None = setting(
        "Path on the server; the same path if left out.", cost=Cost.DRAIN, default=None, example="/srv/shared"
    )
    options: tuple[MountOption, ...] = setting(
        "Mount options beyond ours, or in their place: vers=4.2, hard, noatime, rsize and wsize of 1 MiB, nconnect by"
        " the rate of the network, and lookupcache=positive for the folder of runs. The unit tells the reason of each.",
        cost=Cost.DRAIN, default=(), example="[nconnect=8]",
    )  # fmt: skip
    server_program: Literal["auto", "kernel", "ganesha"] = setting(
        "What serves it, where a host of the cluster does; auto: the kernel, and in a lab nfs-ganesha.",
        cost=Cost.DRAIN, default="auto", example="ganesha",
    )  # fmt: skip
    noac: bool = setting(
        "Nothing is remembered of files: each open and stat asks the server and waits a round trip, and writes are"
        " synchronous, so loaders of many small files are several times slower. Seldom needed: a file that another"
        " host has just made is seen at once in the folder of runs without it.",
        cost=Cost.DRAIN, default=False, example="true",
    )  # fmt: skip
    quota: Quota | None = setting(
        "Quotas, where a disk of ours on a host of the cluster is served.", default=None
    )


_Packages = tuple[PackageName, ...]


def _packages(example: str) -> Any:
    """The field of clients that no distribution has."""
    return setting(
        "Packages of its client, from a repository of the site's; none if the hosts have them already.",
        cost=Cost.DRAIN,
        default=(),
        example=example,
    )


class Lustre(_Folder):
    """A Lustre file system that the site runs."""

    kind: Literal["lustre"] = setting("A Lustre file system.", cost=Cost.DRAIN, example="lustre")
    servers: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Management servers (MGS).", cost=Cost.DRAIN, example="[mgs1, mgs2]"
    )
    filesystem: Identifier = setting("Its name.", cost=Cost.DRAIN, example="scratch")
    packages: _Packages = _packages("[lustre-client-modules-dkms, lustre-client-utils]")


class Ceph(_Folder):
    """A CephFS that the site runs."""

    kind: Literal["ceph"] = setting("A CephFS.", cost=Cost.DRAIN, example="ceph")
    monitors: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Monitor hosts.", cost=Cost.DRAIN, example="[mon1, mon2, mon3]"
    )
    filesystem: Identifier = setting("Its name.", cost=Cost.DRAIN, default="cephfs", example="cephfs")


class Gpfs(_Folder):
    """An IBM Storage Scale (GPFS) file system that the site runs."""

    kind: Literal["gpfs"] = setting("An IBM Storage Scale file system.", cost=Cost.DRAIN, example="gpfs")
    filesystem: Identifier = setting("Its name.", cost=Cost.DRAIN, example="gpfs0")
    packages: _Packages = _packages("[gpfs.base, gpfs.gpl]")


class Beegfs(_Folder):
    """A BeeGFS that the site runs."""

    kind: Literal["beegfs"] = setting("A BeeGFS.", cost=Cost.DRAIN, example="beegfs")
    manager: ServerName = setting("Its management server.", cost=Cost.DRAIN, example="mgmtd1")
    authentication: bool = setting(
        "Whether /etc/beegfs/conn.auth, which the site puts there, is needed; false if the site switched it off.",
        cost=Cost.DRAIN, default=True, example="false",
    )  # fmt: skip
    packages: _Packages = _packages("[beegfs-client, beegfs-helperd, beegfs-utils]")


class Local(_Folder):
    """A folder that is already there on every host: in a lab, a folder of the machine that stands for NFS."""

    kind: Literal["local"] = setting("Already there on every host.", cost=Cost.DRAIN, example="local")


Storage = Annotated[Nfs | Lustre | Ceph | Gpfs | Beegfs | Local, Field(discriminator="kind")]
