"""Passwords over SSH, and the code that jobs import."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.check.checks.library_equal import library_equal
from clusterwright.check.checks.login_jobs_only import login_jobs_only
from clusterwright.check.checks.password_login import password_login
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.library_digest import MISSING
from clusterwright.check.facts.login_modules import login_modules
from clusterwright.check.facts.sshd_settings import sshd_settings
from clusterwright.check.verdict import Status

RECORDED = Path(__file__).parent / "facts" / "sshd_settings"
LOGINS = Path(__file__).parent / "facts" / "login_modules"


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


def logins(case, **other):
    """What the recorded host's sshd asks of a login."""
    have = login_modules.parse((LOGINS / f"{case}.txt").read_text())
    return replace(have, **other)


ADOPT = "account required pam_slurm_adopt.so action_no_jobs=deny"


@pytest.mark.parametrize(
    ("have", "status"),
    [
        (logins("lab_compute"), Status.OK),
        (logins("distribution"), Status.FAIL),
        (logins("lab_compute", uses_pam=False), Status.FAIL),
        (logins("lab_compute", installed=False), Status.FAIL),
        (logins("lab_compute", lines=("account optional pam_slurm_adopt.so",)), Status.FAIL),
        (logins("lab_compute", lines=("account sufficient pam_localuser.so", ADOPT)), Status.FAIL),
        (logins("lab_compute", lines=("account include password-auth", ADOPT)), Status.FAIL),
        (logins("lab_compute", lines=("account substack password-auth", ADOPT)), Status.OK),
    ],
)
def test_users_need_a_job_to_log_in(cluster, have, status):
    """A module that is asked too late, or not at all, refuses nobody."""
    spec = HostSpec(cluster, cluster.host("gpu-node1"))

    assert login_jobs_only.judge(spec, have).status is status
