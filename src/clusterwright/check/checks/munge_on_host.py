"""Munge encodes and decodes a credential on the host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.munge_local import munge_local
from clusterwright.check.verdict import Verdict


@check(
    munge_local,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="run `systemctl status munge`; /etc/munge/munge.key must have owner munge and mode 0400",
)
def munge_on_host(_spec: HostSpec, have: str) -> Verdict:
    """The host can encode and decode its own munge credential."""
    return expect(have == "Success", observed=have, expected="Success")
