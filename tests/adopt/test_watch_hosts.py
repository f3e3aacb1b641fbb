"""What `wright diff` watches of the hosts of an adopted cluster: only what the file describes and no role manages."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.site import describe
from clusterwright.adopt.watch_hosts import watched_hosts, watches_hosts

RECORDED = Path(__file__).parent / "recorded" / "host"
MOUNTS = (
    '{"filesystems": [{"target": "/work", "source": "nas.example.org:/export/work", "fstype": "nfs4",'
    ' "options": "rw"}]}'
)
HOST = replace(
    RecordedHost(**{path.name: path.read_text() for path in RECORDED.iterdir()}),
    mounts=MOUNTS,
    group="vision:x:5001:\n",
)
HOSTS = {"head": HOST, "m1": HOST, "m2": HOST}
CONF = """ClusterName=c
SlurmctldHost=head(10.9.0.1)
AccountingStorageType=accounting_storage/slurmdbd
NodeName=m[1-2] NodeAddr=10.9.0.[2-3] CPUs=2
PartitionName=p Nodes=m[1-2] Default=YES
"""
TABLES = {
    "associations": "Cluster|Account|User|Share\nc|root||1\nc|vision||1\nc|vision|alice|1\n",
    "users": "User|Def Acct|Admin\nalice|vision|None\n",
}


@pytest.fixture(scope="module")
def cluster():
    """The cluster file of the hosts."""
    site = RecordedSite({"/e/slurm.conf": CONF}, "/e", "24.05.3", "", HOSTS, TABLES)
    return describe(site.sources(), site.version, "x", facts_of(site)).cluster


def test_hosts_that_did_not_change_have_no_difference(cluster):
    """The file has kernel settings, a held package, an NFS folder and a user with a uid of these hosts."""
    assert "net.core.rmem_max" in cluster.system.sysctl
    assert cluster.system.hold_packages
    assert [folder.kind for folder in cluster.storage.values()] == ["nfs"]
    assert cluster.unix_users() == {"alice": 6001}
    assert watches_hosts(cluster)
    assert watched_hosts(cluster, HOSTS) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "lines"),
    [
        ("sysctl", "vm.swappiness=1", "vm.swappiness=60", ["system.sysctl: vm.swappiness: 1 -> 60"]),
        ("holds", "slurm-client", "", ["system.hold_packages: slurm-client: + -> -"]),
        ("mounts", "export/work", "export/old", ["storage.work: export: /export/work -> /export/old"]),
        ("mounts", "nas.", "nas2.", ["storage.work: server: nas.example.org -> nas2.example.org"]),
        ("mounts", "/work", "/elsewhere", ["storage: work: /work -> -"]),
        ("fstab", "rw,hard", "rw,soft", ["storage.work: options: hard,noatime -> soft,noatime"]),
        ("passwd", "alice:x:6001", "alice:x:6009", ["users.alice: uid: 6001 -> 6009"]),
        ("passwd", "alice:x:6001", "eve:x:6001", ["users.alice: uid: 6001 -> -"]),
    ],
)
def test_a_changed_host_is_watched(cluster, name, old, new, lines):
    """Each setting that somebody changed on a host is one line with both values, and no other line."""
    text = getattr(HOST, name)
    assert old in text
    changed = replace(HOST, **{name: text.replace(old, new)})

    assert watched_hosts(cluster, HOSTS | {"m2": changed}) == [f"m2: {line}" for line in lines]
    assert watched_hosts(cluster, HOSTS | {"m1": changed, "m2": changed}) == [
        f"m[1-2]: {line}" for line in lines
    ]


@pytest.mark.parametrize("line", ["/export/work", "/export/work/", '"/export/work"', '"/export/work/"'])
def test_a_folder_is_exported_in_every_spelling_that_adopt_reads(line):
    """The server of the folder does not mount it: with quotes or a slash at the end it still exports it."""
    server = replace(
        HOST, mounts='{"filesystems": []}', exports=f"==> /etc/exports <==\n{line} 10.0.0.0/8(rw)\n"
    )
    mounts = MOUNTS.replace("nas.example.org", "head")
    hosts = {"head": server, "m1": replace(HOST, mounts=mounts), "m2": replace(HOST, mounts=mounts)}
    site = RecordedSite({"/e/slurm.conf": CONF}, "/e", "24.05.3", "", hosts, TABLES)
    cluster = describe(site.sources(), site.version, "x", facts_of(site)).cluster

    assert [(folder.server, folder.export) for folder in cluster.storage.values()] == [
        ("head", "/export/work")
    ]
    assert watched_hosts(cluster, hosts) == []
    moved = replace(server, exports=server.exports.replace("work", "old"))
    assert watched_hosts(cluster, hosts | {"head": moved}) == ["head: storage: work: /work -> -"]


def test_a_host_that_does_not_answer_is_not_compared(cluster):
    """The line names it; hosts that are not among the texts, such as cloud nodes, are left out."""
    (line,) = watched_hosts(cluster, {"head": HOST, "m1": None})

    assert line.startswith("m1: ")


def test_managed_roles_are_not_watched(cluster):
    """`wright diff` compares them with their hosts anyway."""
    changed = replace(HOST, sysctl="", holds="", passwd="", mounts='{"filesystems": []}')
    roles = ("kernel", "package_hold", "nfs_client", "accounts")

    for role in roles:
        managed = cluster.model_copy(update={"manage": tuple(name for name in roles if name != role)})
        assert watched_hosts(managed, {"m1": changed})
    assert watched_hosts(cluster.model_copy(update={"manage": roles}), {"m1": changed}) == []
    assert not watches_hosts(cluster.model_copy(update={"manage": roles}))
