"""What was said of hosts, laid out over the cluster."""

from pathlib import Path

from clusterwright.check.report.findings import CONTACTS, contact, findings, kind_of, worst
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.load import load_cluster

LAB = load_cluster(Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml")
NETWORKS = ("management", "compute", "storage")


def made(*verdicts):
    """The findings of these verdicts on the example's lab."""
    return findings(LAB, verdicts, checked_at="2026-11-22 12:00 UTC", version="0.1.0")


def verdict(host, status, part=""):
    """One verdict of no particular check."""
    return Verdict(host, "some_check", status, "seen", "wanted", "a fix", part)


def test_every_declared_part_is_there_though_nothing_was_said_of_it():
    """Four GPUs and three links of a host nobody asked: there, and not green."""
    host = next(host for host in made().hosts if host.name == "gpu-node2")

    assert [part.name for part in host.parts_by_kind("gpu")] == ["gpu 0", "gpu 1", "gpu 2", "gpu 3"]
    assert [part.name for part in host.parts_by_kind("network")] == list(NETWORKS)
    assert {part.status for part in host.parts} == {None}
    assert host.status is None


def test_a_part_has_its_own_status_and_the_host_another():
    """A bad link does not make a bad host."""
    found = made(
        verdict("gpu-node1", Status.OK), verdict("gpu-node1", Status.OK, "compute"),
        verdict("gpu-node1", Status.FAIL, "compute"), verdict("gpu-node1", Status.WARN, "/shared"),
    )  # fmt: skip
    host = next(host for host in found.hosts if host.name == "gpu-node1")
    status = {part.name: part.status for part in host.parts}

    assert host.status is Status.OK
    assert status["compute"] is Status.FAIL
    assert status["/shared"] is Status.WARN
    assert status["storage"] is None


def test_only_green_passes():
    """A blind check is no pass; a warning is."""
    assert made(verdict("gpu-node1", Status.OK), verdict("gpu-node1", Status.WARN)).passed
    assert not made(verdict("gpu-node1", Status.UNKNOWN)).passed
    assert not made(verdict("gpu-node1", Status.FAIL)).passed


def test_the_worst_of_many():
    """Skipped only where there is nothing else."""
    assert worst([]) is None
    assert worst([verdict("a", Status.SKIPPED)]) is Status.SKIPPED
    assert worst([verdict("a", Status.SKIPPED), verdict("a", Status.OK)]) is Status.OK
    assert worst([verdict("a", Status.WARN), verdict("a", Status.UNKNOWN)]) is Status.UNKNOWN


def test_who_mends_what():
    """By the kind of the part."""
    assert [kind_of(part, NETWORKS) for part in ("gpu 3", "compute", "/scratch", "")] == [
        "gpu", "network", "disk", "host",
    ]  # fmt: skip
    assert contact(verdict("a", Status.FAIL, "storage"), NETWORKS) == CONTACTS["network"]
