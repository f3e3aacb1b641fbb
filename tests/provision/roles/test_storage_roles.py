"""Storage of every kind, as the hosts of each family get it."""

import re

import pytest

from clusterwright.provision.resources import Disks, File, MountPoint, Package, Records, Unit, User
from clusterwright.provision.roles import desired_resources

NFS = {"kind": "nfs", "path": "/shared", "server": "control", "export": "/srv/shared"}
KINDS = {
    "shared": NFS,
    "lustre": {"kind": "lustre", "path": "/lustre", "servers": ["mgs1"], "filesystem": "fs",
               "packages": ["lustre-client"]},
    "ceph": {"kind": "ceph", "path": "/ceph", "monitors": ["mon1", "mon2"]},
    "gpfs": {"kind": "gpfs", "path": "/gpfs", "filesystem": "gpfs0"},
    "bee": {"kind": "beegfs", "path": "/bee", "manager": "mgmtd1", "packages": ["beegfs-client"]},
}  # fmt: skip
DISKS = [{"kind": "nvme", "count": 4, "size": "3.84TB", "mount": "/scratch", "filesystem": "xfs", "raid": 0,
          "quota": {"user": "1TB", "team": "2TB"}}]  # fmt: skip


@pytest.fixture
def on(altered, given):
    """`on(host, changes)`: resources of a host of a production file, by id."""

    def make(host, changes):
        cluster = altered({"lab": None, **changes})
        return {one.id: one for one in desired_resources(cluster, cluster.host(host), given)}

    return make


def options(file):
    """What mount is given."""
    return re.search(r"(?m)^Options=(.*)$", file.content)[1].split(",")


@pytest.mark.parametrize(
    ("os", "packages"),
    [
        ("debian-12", {"nfs-common", "ceph-common", "lustre-client", "beegfs-client"}),
        ("ubuntu-24.04", {"nfs-common", "ceph-common", "lustre-client", "beegfs-client"}),
        ("rocky-9", {"nfs-utils", "ceph-common", "lustre-client", "beegfs-client"}),
    ],
)
def test_each_kind_is_mounted_on_each_family(on, os, packages):
    """A package, a place that is looked at, a unit that stands alone."""
    software = {
        "slurm": "23.11",
        "repositories": {"slurm": {"url": "https://packages.example.org/x", "unsigned": True}},
    }
    found = on("gpu-node1", {"storage": KINDS, "os": os, "software": software})

    assert packages <= {one.name for one in found.values() if isinstance(one, Package)}
    assert {one.path for one in found.values() if isinstance(one, MountPoint)} == {
        folder["path"] for folder in KINDS.values()
    }
    for name in ("shared.mount", "lustre.mount", "ceph.mount", "gpfs.mount", "beegfs-client.service"):
        assert found[f"unit:{name}"].independent, name


def test_a_mount_over_nfs_has_what_training_needs_with_its_reason(on):
    """Connections by the rate of the storage network (25 Gbit/s); each option of ours is explained above it."""
    file = on("gpu-node1", {"storage": {"shared": NFS}})["file:/etc/systemd/system/shared.mount"]

    assert options(file) == [
        "vers=4.2", "hard", "noatime", "rsize=1048576", "wsize=1048576", "nconnect=3", "lookupcache=positive",
    ]  # fmt: skip
    assert all(f"# {option}: " in file.content for option in options(file))
    assert "25 Gbit/s" in file.content


def test_the_sites_own_options_take_the_place_of_ours(on):
    """Each key once: mount would take the last one, and a reader the first."""
    own = NFS | {"options": ["vers=4.1", "nconnect=8", "ro"]}
    file = on("gpu-node1", {"storage": {"shared": own}})["file:/etc/systemd/system/shared.mount"]

    assert options(file)[-3:] == ["vers=4.1", "nconnect=8", "ro"]
    assert "vers=4.2" not in options(file)
    assert "nconnect=3" not in options(file)


def test_only_the_folder_of_runs_asks_again_for_what_was_not_there(on):
    """Elsewhere a name that is missing is remembered; noac is for who asks for it."""
    folders = {
        "shared": NFS,
        "data": {"kind": "nfs", "path": "/data", "server": "filer"},
        "slow": {"kind": "nfs", "path": "/slow", "server": "filer", "noac": True},
    }
    found = on("gpu-node1", {"storage": folders})
    of = {name: options(found[f"file:/etc/systemd/system/{name}.mount"]) for name in folders}

    assert "lookupcache=positive" in of["shared"]
    assert not {"lookupcache=positive", "noac"} & set(of["data"])
    assert "noac" in of["slow"]


def test_missing_mounts_are_tried_again_and_never_hold_up_a_boot(on):
    """By a timer; a mount that hangs ends after a while."""
    found = on("gpu-node1", {"storage": {"shared": NFS}})

    assert "TimeoutSec=90\n" in found["file:/etc/systemd/system/shared.mount"].content
    again = found["file:/etc/systemd/system/clusterwright-mounts.service"].content
    assert "systemctl start --no-block shared.mount\n" in again
    assert "unit:clusterwright-mounts.timer" in found
    assert not [name for name in found if "automount" in name]
    assert "unit:clusterwright-mounts.timer" not in on("control", {"storage": {"shared": NFS}})


def test_the_server_makes_the_folder_of_runs(on):
    """It is there before anybody mounts it."""
    found = on("control", {"storage": {"shared": NFS}})

    assert found["directory:/srv/shared/runs"].mode == 0o1777
    assert "directory:/shared/runs" not in found


def test_nfs_ganesha_serves_in_place_of_the_kernel(on, altered, given):
    """One export a folder, for the cluster's networks; in a lab without being asked."""
    found = on("control", {"storage": {"shared": NFS | {"server_program": "ganesha"}}})
    conf = found["file:/etc/ganesha/ganesha.conf"].content

    assert "Path = /srv/shared;" in conf
    assert "Clients = 10.77.0.0/24, 10.77.1.0/24, 10.77.2.0/24; Access_Type = RW;" in conf
    assert conf.count("{") == conf.count("}")
    assert "unit:nfs-ganesha.service" in found
    assert "file:/etc/exports.d/clusterwright.exports" not in found
    lab = altered({"storage": {"shared": NFS}})
    assert "unit:nfs-ganesha.service" in {one.id for one in desired_resources(lab, lab.control, given)}


def test_two_folders_of_one_server_are_two_exports(on):
    """In one file; a second file would have taken the place of the first."""
    folders = {"shared": NFS, "data": NFS | {"path": "/data", "export": "/srv/data"}}
    exports = on("control", {"storage": folders})["file:/etc/exports.d/clusterwright.exports"].content

    assert [line.split()[0] for line in exports.splitlines()[1:]] == ["/srv/shared", "/srv/data"]


def test_homes_from_one_server_are_made_there_alone(on):
    """A home that a compute host made would be hidden by the mount."""
    home = {"kind": "nfs", "path": "/home", "server": "control"}
    changes = {"storage": {"shared": NFS, "home": home}}

    assert on("control", changes)["user:bob"].home
    assert not on("gpu-node1", changes)["user:bob"].home
    assert isinstance(on("gpu-node1", {"storage": {"shared": NFS}})["user:bob"], User)
    assert on("gpu-node1", {"storage": {"shared": NFS}})["user:bob"].home


@pytest.mark.parametrize(("kind", "network"), [("ethernet", "tcp"), ("roce", "o2ib"), ("infiniband", "o2ib")])
def test_lustre_travels_on_the_storage_network(on, kind, network):
    """LNet is told by addresses: interfaces have other names on every host."""
    found = on("gpu-node1", {"storage": KINDS, "networks.storage.kind": kind})

    assert f"net-spec: {network}\n" in found["file:/etc/lnet.conf"].content
    assert "0: 10.77.2.*\n" in found["file:/etc/lnet.conf"].content
    assert f"What=mgs1@{network}:/fs\n" in found["file:/etc/systemd/system/lustre.mount"].content
    bee = found["file:/etc/beegfs/clusterwright-bee.conf"].content
    assert f"connUseRDMA = {'true' if network == 'o2ib' else 'false'}\n" in bee
    assert "sysMgmtdHost = mgmtd1\n" in bee
    assert found["file:/etc/beegfs/beegfs-mounts.conf"].content.endswith(
        "/bee /etc/beegfs/clusterwright-bee.conf\n"
    )


def test_disks_become_one_file_system_with_quotas(on):
    """Made, mounted by its label, trimmed by the week; limits for every user and team."""
    found = on("gpu-node1", {"nodes.a100.disks": DISKS})

    assert found["disks:cw-scratch"] == Disks(
        label="cw-scratch", group="a100", type="nvme", count=4, size=3_840_000_000_000, raid="0",
        filesystem="xfs", quota=True,
    )  # fmt: skip
    mount = found["file:/etc/systemd/system/scratch.mount"]
    assert "What=/dev/disk/by-label/cw-scratch\n" in mount.content
    assert options(mount) == ["noatime", "nodiscard", "nofail", "uquota", "gquota"]
    assert "unit:fstrim.timer" in found
    assert {"mdadm", "xfsprogs", "quota"} <= {one.name for one in found.values() if isinstance(one, Package)}
    rows = found["records:quotas"].rows
    assert isinstance(found["records:quotas"], Records)
    assert {"kind": "user", "name": "bob", "path": "/scratch", "bytes": "1000000000000"} in rows
    assert {"kind": "team", "name": "vision", "path": "/scratch", "bytes": "2000000000000"} in rows


def test_a_served_folder_has_the_quota_of_its_disk(on):
    """Counted on the server, where the disk is."""
    disk = [{"size": "10TB", "kind": "ssd", "mount": "/srv/disk", "filesystem": "ext4"}]
    changes = {
        "nodes.control.disks": disk,
        "storage": {"shared": NFS | {"export": "/srv/disk/shared", "quota": {"user": "1TB"}}},
    }
    found = on("control", changes)

    assert options(found["file:/etc/systemd/system/srv-disk.mount"])[-2:] == ["usrquota", "grpquota"]
    assert {row["path"] for row in found["records:quotas"].rows} == {"/srv/disk"}
    assert "records:quotas" not in on("gpu-node1", changes)


def test_disks_that_the_site_has_made_are_left_alone(on, altered, given):
    """As before; and a lab has none of its own."""
    plain = {key: DISKS[0][key] for key in ("kind", "count", "size", "mount")}

    assert not [
        one for one in on("gpu-node1", {"nodes.a100.disks": [plain]}).values() if isinstance(one, Disks)
    ]
    lab = altered({"nodes.a100.disks": DISKS})
    assert not [one for one in desired_resources(lab, lab.host("gpu-node1"), given) if isinstance(one, Disks)]


def test_every_unit_file_of_a_mount_is_what_systemd_reads(on):
    """Sections in order, and no comment within an option."""
    for name, one in on("gpu-node1", {"storage": KINDS, "nodes.a100.disks": DISKS}).items():
        if isinstance(one, File) and name.endswith(".mount"):
            assert [line for line in one.content.splitlines() if line.startswith("[")] == [
                "[Unit]",
                "[Mount]",
                "[Install]",
            ]
            assert isinstance(
                on("gpu-node1", {"storage": KINDS, "nodes.a100.disks": DISKS})[
                    "unit:" + name.rpartition("/")[2]
                ],
                Unit,
            )
