"""Users can write."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.quotas import Quotas, Use, quotas
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import GB

_NEARLY = 0.95  # imbue's cluster-health calls a disk that is 95 % used a fault
_EXPECTED = N_("every declared user under the soft limit, and under 95 % of the hard one")


def _is_applicable(spec: HostSpec) -> bool:
    return spec.is_control and bool(spec.cluster.storage) and bool(spec.cluster.users)


@check(
    quotas,
    when=_is_applicable,
    fix="who writes there gets `Disk quota exceeded` (errno 122), which looks like a full disk and is none: let them "
    "delete, or raise it with `edquota -u USER` or `lfs setquota -u USER`",
)
def quota_headroom(spec: HostSpec, have: Quotas) -> Iterator[Verdict]:
    """No user of the cluster is at a quota of a shared folder, in bytes or in files; a checkpoint would be lost."""
    if have.missing:
        tools = ", ".join(dict.fromkeys(have.missing))
        yield unknown(
            _("quotas are on, and there is no {tools}", tools=tools),
            expected=_EXPECTED,
            fix=_("install {tools}", tools=tools),
        )
        return
    uses = [use for use in have.uses if use.user in spec.cluster.users]
    faults = [_fault(use, status) for use in uses if (status := _status(use)) is not Status.OK]
    if faults:
        yield from faults
    elif uses:
        yield fine(observed=_("{count} limits, none near", count=len(uses)), expected=_EXPECTED)
    else:
        yield skip(_("no user of the cluster has a quota that could be asked for here"))


def _status(use: Use) -> Status:
    if use.grace_over or (use.hard and use.used >= use.hard):
        return Status.FAIL
    nearly = use.hard and use.used >= _NEARLY * use.hard
    return Status.WARN if nearly or (use.soft and use.used > use.soft) else Status.OK


def _fault(use: Use, status: Status) -> Verdict:
    limit = use.hard or use.soft
    usage = (
        _("{used} of {limit} files", used=use.used, limit=limit)
        if use.files
        else _("{used:.4g} of {limit:.4g} GB", used=use.used / GB, limit=limit / GB)
    )
    over = _(", and the time over the soft limit has run out") if use.grace_over else ""
    return fault(
        observed=_(
            "{user} uses {usage} in {path}{over}", user=use.user, usage=usage, path=use.path, over=over
        ),
        expected=_EXPECTED,
        part=f"{use.user} {use.path}",
        otherwise=status,
    )
