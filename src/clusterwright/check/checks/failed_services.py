"""No systemd unit has failed."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.failed_units import failed_units
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


@check(
    failed_units,
    fix="read `systemctl status UNIT`, fix the cause, then run `systemctl reset-failed UNIT`",
    in_jobs=True,
)
def failed_services(_spec: HostSpec, have: tuple[str, ...]) -> Verdict:
    """No systemd unit of the host is in state failed.

    Otherwise a warning.
    """
    return expect(
        not have,
        observed=", ".join(have) or _("no failed unit"),
        expected=_("no failed unit"),
        otherwise=Status.WARN,
    )
