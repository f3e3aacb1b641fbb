"""Users can write."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.quotas import Quotas, Use, quotas
from clusterwright.check.verdict import Status, Verdict
from clusterwright.units import GB

_NEARLY = 0.95  # imbue's cluster-health calls a disk that is 95 % used a fault
_WANT = "every declared user under the soft limit, and under 95 % of the hard one"


def _is_asked(want: Want) -> bool:
    return want.is_control and bool(want.cluster.storage) and bool(want.cluster.users)


@check(
    quotas,
    when=_is_asked,
    mend="who writes there gets `Disk quota exceeded` (errno 122), which looks like a full disk and is none: let them "
    "delete, or raise it with `edquota -u USER` or `lfs setquota -u USER`",
)
def quota_left(want: Want, have: Quotas) -> Iterator[Verdict]:
    """No user of the cluster is at a quota of a shared folder, in bytes or in files; a checkpoint would be lost."""
    if have.missing:
        tools = ", ".join(dict.fromkeys(have.missing))
        yield unknown(f"quotas are on, and there is no {tools}", want=_WANT, mend=f"install {tools}")
        return
    uses = [use for use in have.uses if use.user in want.cluster.users]
    found = [_fault(use, status) for use in uses if (status := _status(use)) is not Status.OK]
    if found:
        yield from found
    elif uses:
        yield fine(saw=f"{len(uses)} limits, none near", want=_WANT)
    else:
        yield skip("no user of the cluster has a quota that could be asked for here")


def _status(use: Use) -> Status:
    if use.grace_over or (use.hard and use.used >= use.hard):
        return Status.FAIL
    nearly = use.hard and use.used >= _NEARLY * use.hard
    return Status.WARN if nearly or (use.soft and use.used > use.soft) else Status.OK


def _fault(use: Use, status: Status) -> Verdict:
    limit = use.hard or use.soft
    saw = f"{use.used} of {limit} files" if use.files else f"{use.used / GB:.4g} of {limit / GB:.4g} GB"
    over = ", and the time over the soft limit has run out" if use.grace_over else ""
    return fault(
        saw=f"{use.user} uses {saw} in {use.path}{over}",
        want=_WANT,
        part=f"{use.user} {use.path}",
        otherwise=status,
    )
