"""The munge key is kept."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.munge_key import MungeKey, munge_key
from clusterwright.check.verdict import Verdict


@check(
    munge_key,
    fix="chown munge and chmod 0400 the key, restart munge; a key that others could read has to go",
)
def munge_key_permissions(_spec: HostSpec, have: MungeKey) -> Verdict:
    """Only munge itself can read its key (munged(8): not readable by group or other)."""
    is_private = have.owner == "munge" and have.mode in ("400", "600")
    return expect(is_private, observed=f"{have.owner} 0{have.mode}", expected="munge 0400")
