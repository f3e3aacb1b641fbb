"""Nothing else failed."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.failed_units import failed_units
from clusterwright.check.verdict import Status, Verdict


@check(
    failed_units, mend="`systemctl status UNIT` says why; `systemctl reset-failed UNIT` once it is understood"
)
def failed_services(_want: Want, have: tuple[str, ...]) -> Verdict:
    """No unit of the host is in state failed, whoever brought it."""
    return expect(
        not have, saw=", ".join(have) or "none failed", want="no failed unit", otherwise=Status.WARN
    )
