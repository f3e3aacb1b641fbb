"""Shared folders, one class per kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clusterwright.spec.field import Cost, Section, setting
from clusterwright.spec.names import HostPath, MountOption, ServerName, Word
from clusterwright.spec.quantities import Size


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
        "Mount options beyond ours.", cost=Cost.DRAIN, default=(), example="[nconnect=8]"
    )


class Lustre(_Folder):
    """A Lustre file system that the site runs."""

    kind: Literal["lustre"] = setting("A Lustre file system.", cost=Cost.DRAIN, example="lustre")
    servers: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Management servers (MGS).", cost=Cost.DRAIN, example="[mgs1, mgs2]"
    )
    filesystem: Word = setting("Its name.", cost=Cost.DRAIN, example="scratch")


class Ceph(_Folder):
    """A CephFS that the site runs."""

    kind: Literal["ceph"] = setting("A CephFS.", cost=Cost.DRAIN, example="ceph")
    monitors: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Monitor hosts.", cost=Cost.DRAIN, example="[mon1, mon2, mon3]"
    )
    filesystem: Word = setting("Its name.", cost=Cost.DRAIN, default="cephfs", example="cephfs")


class Gpfs(_Folder):
    """An IBM Storage Scale (GPFS) file system that the site runs."""

    kind: Literal["gpfs"] = setting("An IBM Storage Scale file system.", cost=Cost.DRAIN, example="gpfs")
    filesystem: Word = setting("Its name.", cost=Cost.DRAIN, example="gpfs0")


class Local(_Folder):
    """A folder that is already there on every host: in a lab, a folder of the machine that stands for NFS."""

    kind: Literal["local"] = setting("Already there on every host.", cost=Cost.DRAIN, example="local")


Storage = Annotated[Nfs | Lustre | Ceph | Gpfs | Local, Field(discriminator="kind")]
