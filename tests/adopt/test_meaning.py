"""What counts as the same slurm.conf, and what does not."""

import pytest

from clusterwright.adopt.meaning import differences
from clusterwright.config.slurm_rules import Source, parse_conf

BASE = """ClusterName=c
SlurmctldHost=m
NodeName=n[1-4] CPUs=8 Sockets=2 CoresPerSocket=4 RealMemory=1000 Gres=gpu:a:2
PartitionName=p Nodes=n[1-4] Default=YES MaxTime=1-0
"""


def conf(text):
    """The content of a slurm.conf."""
    return parse_conf([Source("slurm.conf", "slurm.conf", text)], "24.05")


def changes(old, new):
    """The differences after a replacement in the base file."""
    assert old in BASE
    return [str(change) for change in differences(conf(BASE), conf(BASE.replace(old, new)))]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("NodeName=n[1-4]", "NodeName=n1,n2,n[3-4]"),
        ("MaxTime=1-0", "MaxTime=24:00:00"),
        ("MaxTime=1-0", "MaxTime=1440 State=UP PriorityTier=1"),
        ("CPUs=8 Sockets=2 CoresPerSocket=4", "Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1"),
        ("Nodes=n[1-4]", "Nodes=ALL"),
        ("SlurmctldHost=m", "ControlMachine=m"),
        ("RealMemory=1000", "RealMemory=1000 Weight=1 State=UNKNOWN"),
        ("ClusterName=c", "ClusterName=C"),
    ],
)
def test_the_same_meaning_is_no_difference(old, new):
    """Defaults, spelling, hostlists and units do not count."""
    assert changes(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        ("NodeName=n[1-4]", "NodeName=n[1-3]", "node n4: cpus: 8 1 2 4 1 -> -"),
        ("MaxTime=1-0", "MaxTime=INFINITE", "partition p: maxtime: 1440 -> unlimited"),
        ("CPUs=8 Sockets=2", "CPUs=4 Sockets=2", "node n1: cpus: 8 1 2 4 1 -> 4 1 2 4 1"),
        ("Default=YES", "Default=NO", "partition p: default: yes -> no"),
        ("SlurmctldHost=m", "SlurmctldHost=m\nSlurmctldHost=o", "setting: slurmctldhost: m(m) -> m(m) o(o)"),
        ("RealMemory=1000", "RealMemory=1001", "node n1: realmemory: 1000 -> 1001"),
        ("RealMemory=1000", "RealMemory=1000 Features=x", "node n1: features: - -> x"),
        ("gpu:a:2", "gpu:b:2", "node n1: gres: [('gpu', 'a', 2)] -> [('gpu', 'b', 2)]"),
        ("ClusterName=c", "ClusterName=c\nKillWait=7", "setting: killwait: - -> 7"),
        ("Default=YES", "Default=YES OverSubscribe=FORCE:2", "partition p: oversubscribe: no -> FORCE:2"),
    ],
)
def test_another_meaning_is_a_difference(old, new, difference):
    """A host, a limit, a processor, a feature, a setting that is absent or has another value."""
    assert difference in changes(old, new)
