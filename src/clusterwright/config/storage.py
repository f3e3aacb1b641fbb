"""Shared folders: one class for each kind of file system."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import HostPath, HttpAddress, Identifier, MountOption, PackageName, ServerName
from clusterwright.config.quantities import Size


class Quota(Section):
    """Disk quotas of a user and of a team; existing files stay."""

    user: Size | None = setting("Quota of each user; default: no limit.", default=None, example="1TB")
    team: Size | None = setting(
        "Quota of each team's Unix group; default: no limit.", default=None, example="10TB"
    )


class _Folder(Section):
    path: HostPath = setting("Mount point on every host.", cost=Cost.DRAIN, example="/shared")
    size: Size | None = setting("Capacity, for planning and checks.", default=None, example="100TB")
    free: Size = setting(
        "Minimum free space of the folder; checks fail below it.", default="1GiB", example="500GB"
    )


class Nfs(_Folder):
    """A folder that a host of the cluster or another server exports over NFS."""

    kind: Literal["nfs"] = setting("An NFS export.", cost=Cost.DRAIN, example="nfs")
    server: ServerName = setting(
        "NFS server: a host of the cluster or another server of the site.", cost=Cost.DRAIN, example="control"
    )
    export: HostPath | None = setting(
        "Exported path on the server; default: `path`.", cost=Cost.DRAIN, default=None, example="/srv/shared"
    )
    options: tuple[MountOption, ...] = setting(
        "Mount options that add to or replace the defaults: vers=4.2, hard, noatime, rsize and wsize of 1 MiB,"
        " nconnect by the network rate, lookupcache=positive for the folder of runs. The mount unit has their reasons.",
        cost=Cost.DRAIN, default=(), example="[nconnect=8]",
    )  # fmt: skip
    server_program: Literal["auto", "kernel", "ganesha"] = setting(
        "NFS server program on a host of the cluster; auto: the kernel server, in a lab nfs-ganesha.",
        cost=Cost.DRAIN, default="auto", example="ganesha",
    )  # fmt: skip
    noac: bool = setting(
        "Disable attribute caching: each open and stat waits for a round trip to the server, and writes are"
        " synchronous, so data loaders with many small files are several times slower. Rarely needed: in the folder of"
        " runs new files of other hosts are visible at once without it.",
        cost=Cost.DRAIN, default=False, example="true",
    )  # fmt: skip
    quota: Quota | None = setting(
        "Quotas; only for a folder on a disk of the cluster file, exported by a host of the cluster.",
        default=None,
    )

    def program(self, *, in_lab: bool) -> Literal["kernel", "ganesha"]:
        """Return the NFS server program of a folder that a host of the cluster serves.

        `auto` is the kernel, in a lab ganesha: the lab machine's kernel may have no NFS server.
        """
        if self.server_program == "auto":
            return "ganesha" if in_lab else "kernel"
        return self.server_program


_Packages = tuple[PackageName, ...]


def _packages(example: str) -> Any:
    """Return the field for client packages of file systems that no distribution ships."""
    return setting(
        "Client packages, from a repository of the site; default: none, the hosts have them already.",
        cost=Cost.DRAIN,
        default=(),
        example=example,
    )


class Lustre(_Folder):
    """A Lustre file system of the site."""

    kind: Literal["lustre"] = setting("A Lustre file system.", cost=Cost.DRAIN, example="lustre")
    servers: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Management servers (MGS).", cost=Cost.DRAIN, example="[mgs1, mgs2]"
    )
    filesystem: Identifier = setting("Name of the file system.", cost=Cost.DRAIN, example="scratch")
    packages: _Packages = _packages("[lustre-client-modules-dkms, lustre-client-utils]")


class Ceph(_Folder):
    """A CephFS of the site."""

    kind: Literal["ceph"] = setting("A CephFS.", cost=Cost.DRAIN, example="ceph")
    monitors: Annotated[tuple[ServerName, ...], Field(min_length=1)] = setting(
        "Monitor hosts.", cost=Cost.DRAIN, example="[mon1, mon2, mon3]"
    )
    filesystem: Identifier = setting(
        "Name of the file system.", cost=Cost.DRAIN, default="cephfs", example="cephfs"
    )


class Gpfs(_Folder):
    """An IBM Storage Scale (GPFS) file system of the site."""

    kind: Literal["gpfs"] = setting("An IBM Storage Scale file system.", cost=Cost.DRAIN, example="gpfs")
    filesystem: Identifier = setting("Name of the file system.", cost=Cost.DRAIN, example="gpfs0")
    packages: _Packages = _packages("[gpfs.base, gpfs.gpl]")


class Beegfs(_Folder):
    """A BeeGFS file system of the site."""

    kind: Literal["beegfs"] = setting("A BeeGFS file system.", cost=Cost.DRAIN, example="beegfs")
    manager: ServerName = setting("BeeGFS management server.", cost=Cost.DRAIN, example="mgmtd1")
    authentication: bool = setting(
        "Whether connections need /etc/beegfs/conn.auth, which the site provides.",
        cost=Cost.DRAIN, default=True, example="false",
    )  # fmt: skip
    packages: _Packages = _packages("[beegfs-client, beegfs-helperd, beegfs-utils]")


class Local(_Folder):
    """A folder that every host already has; in a lab, a folder of the machine in place of NFS."""

    kind: Literal["local"] = setting(
        "A folder that exists on every host already; apply does not mount it.",
        cost=Cost.DRAIN,
        example="local",
    )


Storage = Annotated[Nfs | Lustre | Ceph | Gpfs | Beegfs | Local, Field(discriminator="kind")]


class ObjectStorage(Section):
    """Object storage of the site (Ceph RGW, MinIO) or of a cloud; jobs get its address, and no credentials."""

    endpoint: HttpAddress = setting(
        "Address of the S3 interface; every job has it as AWS_ENDPOINT_URL_S3, and `checkpoint.upload_to` uses it.",
        example="https://rgw.example.org",
    )
    region: Identifier | None = setting(
        "Region, as AWS_DEFAULT_REGION, for storage that requires one; default: not set.",
        default=None,
        example="cn-north-1",
    )
