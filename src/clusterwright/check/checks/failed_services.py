"""Nothing else failed."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.failed_units import failed_units
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _


@check(
    failed_units, fix="`systemctl status UNIT` says why; `systemctl reset-failed UNIT` once it is understood"
)
def failed_services(_spec: HostSpec, have: tuple[str, ...]) -> Verdict:
    """No unit of the host is in state failed, whoever brought it."""
    return expect(
        not have,
        observed=", ".join(have) or _("none failed"),
        expected=_("no failed unit"),
        otherwise=Status.WARN,
    )
