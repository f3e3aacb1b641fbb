"""The tables of keys and words, against what is known of single releases."""

import pytest

from clusterwright.config.slurm_keys import RELEASES, key_spans, release, value_spans


@pytest.mark.parametrize(
    ("file", "line", "key", "since", "until", "defunct"),
    [
        ("slurm.conf", "", "PrologTimeout", "25.05", "", ""),
        ("slurm.conf", "", "AccountingStorageUser", "", "", "25.11"),
        ("slurm.conf", "", "AccountingStorageLoc", "", "25.05", ""),
        ("slurm.conf", "", "SlurmctldPlugstack", "", "22.05", ""),
        ("slurm.conf", "", "NamespaceType", "25.11", "", ""),
        ("slurm.conf", "", "HealthCheckTimeout", "26.05", "", ""),
        ("slurm.conf", "NodeName", "RestrictedCoresPerGPU", "24.05", "", ""),
        ("slurm.conf", "PartitionName", "Topology", "25.05", "", ""),
        ("cgroup.conf", "", "CgroupAutomount", "", "", "23.11"),
        ("cgroup.conf", "", "ConstrainKmemSpace", "", "23.02", ""),
        ("cgroup.conf", "", "CgroupReleaseAgentDir", "", "25.05", ""),
        ("topology.conf", "", "BlockSizes", "24.05", "", ""),
        ("slurmdbd.conf", "", "StoragePassScript", "25.11", "", ""),
    ],
)
def test_keys_come_and_go_with_the_release_that_the_notes_name(file, line, key, since, until, defunct):
    """Rows that the release notes tell of too."""
    span = key_spans(file, line)[key.lower()]

    assert (span.name, span.first_release, span.last_release, span.defunct) == (key, since, until, defunct)


@pytest.mark.parametrize(
    ("key", "word", "since", "until"),
    [
        ("TopologyPlugin", "topology/block", "23.11", ""),
        ("SelectType", "select/cons_res", "", "23.02"),
        ("SlurmctldParameters", "rl_enable", "23.02", ""),
        ("HealthCheckNodeState", "NONDRAINED_IDLE", "23.02", ""),
        ("AutoDetect", "nvidia", "24.11", ""),
        ("AccountingStorageType", "accounting_storage/none", "", ""),
    ],
)
def test_words_come_and_go_too(key, word, since, until):
    """A word that its plugin outlived (none) is there for good."""
    span = value_spans(key)[word.lower()]

    assert (span.first_release, span.last_release) == (since, until)


@pytest.mark.parametrize(
    ("version", "of"), [("22.05.8", "22.05"), ("26.05", "26.05"), ("21.08.8-2", "21.08")]
)
def test_a_version_is_of_a_release(version, of):
    """Year and month, as text that sorts by time."""
    assert release(version) == of


def test_releases_sort_by_time():
    """Comparing them as text is enough."""
    assert list(RELEASES) == sorted(RELEASES)
    assert {"21.08", "26.05"} < set(RELEASES)
