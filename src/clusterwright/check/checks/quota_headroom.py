"""Users are below their disk quotas."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.quotas import Quotas, Use, quotas
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n
from clusterwright.units import human_number, human_size

_NEARLY = 0.95  # imbue-ai/cluster-health: 95 % used is a fault
_EXPECTED = N_("every declared user below the soft limit and below 95% of the hard limit")


def _is_applicable(spec: HostSpec) -> bool:
    return spec.is_control and bool(spec.cluster.storage) and bool(spec.cluster.users)


@check(
    quotas,
    when=_is_applicable,
    fix="ask the user to delete files, or raise the quota with `edquota -u USER` or `lfs setquota -u USER`; at the "
    "limit writes fail with `Disk quota exceeded` (errno 122)",
)
def quota_headroom(spec: HostSpec, have: Quotas) -> Iterator[Verdict]:
    """No user has reached a quota of a shared folder, in bytes or files; checkpoints would fail to be written.

    More than the soft limit, or 95% of the hard limit, is a warning; a failure at the hard limit or after grace.
    """
    if have.missing:
        tools = ", ".join(dict.fromkeys(have.missing))
        yield unknown(
            _("quotas are on, but {tools} is not installed", tools=tools),
            expected=_(_EXPECTED),
            fix=_("install {tools} on the host", tools=tools),
        )
        return
    uses = [use for use in have.uses if use.user in spec.cluster.users]
    faults = [_fault(use, status) for use in uses if (status := _status(use)) is not Status.OK]
    if faults:
        yield from faults
    elif uses:
        yield fine(
            observed=_n(
                "{count} quota, not near its limit", "{count} quotas, none near its limit", len(uses)
            ),
            expected=_(_EXPECTED),
        )
    else:
        yield skip(_("no user of the cluster has a quota that this host can read"))


def _status(use: Use) -> Status:
    if use.grace_over or (use.hard and use.used >= use.hard):
        return Status.FAIL
    nearly = use.hard and use.used >= _NEARLY * use.hard
    return Status.WARN if nearly or (use.soft and use.used > use.soft) else Status.OK


def _fault(use: Use, status: Status) -> Verdict:
    limit = use.hard or use.soft
    usage = (
        _("{used} of {limit} files", used=human_number(use.used), limit=human_number(limit))
        if use.files
        else _("{used} of {limit}", used=human_size(use.used), limit=human_size(limit))
    )
    text = (
        _("{user} uses {usage} in {path}; the grace period of the soft limit is over")
        if use.grace_over
        else _("{user} uses {usage} in {path}")
    )
    return fault(
        observed=text.format(user=use.user, usage=usage, path=use.path),
        expected=_(_EXPECTED),
        part=f"{use.user} {use.path}",
        otherwise=status,
    )
