"""What `wright diff` watches of an adopted cluster: each difference between the file and the site, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.recorded import RecordedSite
from clusterwright.adopt.site import describe
from clusterwright.adopt.watch import is_watched, watched

RECORDED = Path(__file__).parent / "recorded" / "slurmdbd"
TABLES = {name: (RECORDED / name).read_text() for name in ("qos", "associations", "users", "reservations")}
FILES = {
    "/e/slurm.conf": """ClusterName=adopt-a
SlurmctldHost=head(10.236.0.10)
AccountingStorageType=accounting_storage/slurmdbd
NodeName=m[1-2] NodeAddr=10.236.0.[11-12] CPUs=2 Gres=gpu:a100:2
PartitionName=debug Nodes=m[1-2] Default=YES
""",
    "/e/gres.conf": "AutoDetect=off\nNodeName=m[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1]\n",
    "/e/cgroup.conf": "ConstrainCores=no\nConstrainDevices=yes\n",
    "/e/topology.conf": "SwitchName=s1 Nodes=m[1-2]\n",
}
SITE = RecordedSite(FILES, "/e", "24.05.3", "", {}, TABLES)


@pytest.fixture(scope="module")
def cluster():
    """The cluster file of the site."""
    return describe(SITE.sources(), SITE.version, "x", facts_of(SITE)).cluster


def changed(file="", old="", new="", **tables):
    """The site with another text."""
    files = dict(FILES)
    if file:
        assert old in files[file]
        files[file] = files[file].replace(old, new)
    return replace(SITE, files=files, tables=TABLES | tables)


def test_a_site_that_did_not_change_has_no_difference(cluster):
    """Straight after `wright adopt` nothing differs, whatever the site has."""
    assert is_watched(cluster)
    assert watched(cluster, SITE) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "lines"),
    [
        ("slurm.conf", "CPUs=2", "CPUs=4", ["slurm.conf: node m1: cpus: 2 1 2 1 1 -> 4 1 4 1 1"]),
        ("gres.conf", "=off", "=nvml", ["gres.conf: autodetect: off -> nvml"]),
        (
            "gres.conf",
            "[0-1]",
            "0",
            ["gres.conf: m[1-2]: gpu a100 /dev/nvidia1: + -> -"],
        ),
        ("cgroup.conf", "ConstrainCores=no\n", "", ["cgroup.conf: constraincores: no -> -"]),
        ("cgroup.conf", "no\n", "no\nConstrainRAMSpace=yes\n", ["cgroup.conf: constrainramspace: - -> yes"]),
        (
            "topology.conf",
            "s1 Nodes=m[1-2]",
            "s2 Nodes=m[1-2]",
            [
                "topology.conf: SwitchName s1 nodes=m[1-2]: + -> -",
                "topology.conf: SwitchName s2 nodes=m[1-2]: - -> +",
            ],
        ),
    ],
)
def test_changed_files_of_slurm_are_watched(cluster, file, old, new, lines):
    """Each file of slurm.conf's folder that the cluster file describes is compared by meaning."""
    assert watched(cluster, changed(f"/e/{file}", old, new))[: len(lines)] == lines


def test_changed_accounts_are_watched(cluster):
    """A limit, an option, a share, a member and a QOS that somebody changed with sacctmgr."""
    site = changed(
        qos=TABLES["qos"].replace("|4|20|", "|5|30|") + "new|7\n",
        associations=TABLES["associations"]
        .replace("|70|", "|71|")
        .replace("adopt-a|vision|bob|||1", "other|vision|bob|||1"),
    )

    assert watched(cluster, site) == [
        "qos.high: MaxSubmitJobsPerUser: 20 -> 30",
        "qos.high: max_jobs_per_user: 4 -> 5",
        "qos: new: - -> +",
        "teams.science: shares: 70 -> 71",
        "users.bob: additional_teams: vision -> -",
    ]


def test_changed_reservations_are_watched(cluster):
    """A reservation that somebody moved or removed; a weekly one moves on by itself."""
    lines = (
        TABLES["reservations"].replace("2031-01-15T08", "2031-01-15T09").replace("2031-01-16T", "2031-01-23T")
    )
    site = changed(
        reservations="".join(line for line in lines.splitlines(keepends=True) if "=guests" not in line)
    )

    assert watched(cluster, site) == [
        "reservations: guests: + -> -",
        "reservations.maint: start: 2031-01-15T08:00:00 -> 2031-01-15T09:00:00",
    ]


def test_a_slurmdbd_that_does_not_answer_is_no_difference(cluster):
    """What could not be read is not compared, and the line says so."""
    (line,) = watched(cluster, changed(associations="", qos="", users=""))

    assert "did not answer" in line


def test_managed_roles_are_not_watched(cluster):
    """`wright diff` compares them with their hosts anyway."""
    site = changed("/e/cgroup.conf", "no\n", "yes\n", qos=TABLES["qos"] + "new|7\n")
    both = cluster.model_copy(update={"manage": ("slurm", "teams")})

    assert watched(cluster.model_copy(update={"manage": ("slurm",)}), site) == ["qos: new: - -> +"]
    assert watched(cluster.model_copy(update={"manage": ("teams",)}), site) == [
        "cgroup.conf: constraincores: no -> yes"
    ]
    assert not is_watched(both)
