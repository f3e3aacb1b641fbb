"""Passwords over SSH, and the code that jobs import."""

from pathlib import Path

import pytest

from clusterwright.check.checks.library_equal import library_equal
from clusterwright.check.checks.password_login import password_login
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.library_digest import MISSING
from clusterwright.check.facts.sshd_settings import sshd_settings
from clusterwright.check.verdict import Status

RECORDED = Path(__file__).parent / "facts" / "sshd_settings"


def settings(case):
    """What sshd of a recorded host says."""
    return sshd_settings.parse((RECORDED / f"{case}.txt").read_text())


def allowing(cluster, allowed):
    """A host of the cluster that allows passwords, or does not."""
    security = cluster.security.model_copy(update={"password_login": allowed})
    other = cluster.model_copy(update={"security": security})
    return HostSpec(other, other.host("gpu-node1"))


@pytest.mark.parametrize(
    ("case", "allowed", "status"),
    [
        ("lab_compute", False, Status.OK), ("passwords", False, Status.FAIL),
        ("passwords", True, Status.OK), ("lab_compute", True, Status.OK),
    ],
)  # fmt: skip
def test_passwords_are_refused_unless_the_file_allows_them(cluster, case, allowed, status):
    """A cloud image with a file of its own opens them unseen."""
    assert password_login.judge(allowing(cluster, allowed), settings(case)).status is status


@pytest.mark.parametrize(
    ("have", "bad"),
    [
        ({"control": "a", "gpu-node1": "a", "gpu-node2": "a"}, set()),
        ({"control": "a", "gpu-node1": "b", "gpu-node2": "a"}, {"gpu-node1"}),
        ({"control": "a", "gpu-node1": MISSING, "gpu-node2": "a"}, {"gpu-node1"}),
        (
            {"control": MISSING, "gpu-node1": MISSING, "gpu-node2": MISSING},
            {"control", "gpu-node1", "gpu-node2"},
        ),
    ],
)
def test_jobs_find_the_same_code_everywhere(cluster, have, bad):
    """Nothing anywhere is equal too, and no good."""
    found = library_equal.judge(cluster, have)

    assert {verdict.subject for verdict in found if verdict.status is Status.FAIL} == bad
    assert len(found) == 3
