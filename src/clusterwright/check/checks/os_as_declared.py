"""The operating system is as declared."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.os_release import os_release
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    os_release,
    field="os",
    fix="install the declared operating system on the host, or correct `os` in the cluster file",
)
def os_as_declared(spec: HostSpec, have: str) -> Verdict:
    """Every host runs the operating system of the cluster file."""
    return expect(have == spec.cluster.os, observed=have, expected=_("{os} (os)", os=spec.cluster.os))
