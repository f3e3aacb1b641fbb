"""The operating system is the declared one."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.os_release import os_release
from clusterwright.check.verdict import Verdict


@check(
    os_release,
    field="os",
    mend="install the declared system on the host, or correct `os` in the cluster file",
)
def os_as_declared(want: Want, have: str) -> Verdict:
    """Every host runs the system of the cluster file."""
    return expect(have == want.cluster.os, saw=have, want=f"{want.cluster.os} (os)")
