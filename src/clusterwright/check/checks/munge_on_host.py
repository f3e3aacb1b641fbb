"""Munge works on the host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.munge_local import munge_local
from clusterwright.check.verdict import Verdict


@check(
    munge_local,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="systemctl status munge; see the owner (munge) and mode (0400) of its key",
)
def munge_on_host(_spec: HostSpec, have: str) -> Verdict:
    """The host can make and decode a credential of its own."""
    return expect(have == "Success", observed=have, expected="Success")
