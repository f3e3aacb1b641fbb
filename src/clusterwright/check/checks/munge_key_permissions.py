"""Only munge can read its key."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.munge_key import MungeKey, munge_key
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    munge_key,
    fix="run `chown munge` and `chmod 0400` on the key and restart munge; replace a key that others could read",
)
def munge_key_permissions(_spec: HostSpec, have: MungeKey) -> Verdict:
    """Only the user munge can read the munge key (munged(8): not readable by group or other)."""
    is_private = have.owner == "munge" and have.mode in ("400", "600")
    return expect(is_private, observed=f"{have.owner} 0{have.mode}", expected=_("owner munge, mode 0400"))
