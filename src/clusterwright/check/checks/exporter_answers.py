"""The host's own exporter answers, and so do all that it asks."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.exporter import exporter
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _off(spec: HostSpec) -> str:
    return "" if spec.cluster.monitoring.exporter else _("the cluster file has it off (monitoring.exporter)")


@check(
    exporter,
    unless=_off,
    fix="journalctl -u clusterwright-exporter on the host says why a collector gives no answer",
)
def exporter_answers(_spec: HostSpec, have: dict[str, bool] | str) -> Verdict:
    """Our exporter answers on the management address to who has a certificate, and each of its collectors works."""
    expected = _("the exporter on port 9105, all its collectors at work (monitoring.exporter)")
    answers = isinstance(have, dict)
    failures = ", ".join(name for name, up in have.items() if not up) if isinstance(have, dict) else str(have)
    observed = (
        _("no answer from: {failures}", failures=failures)
        if failures and answers
        else failures or _("{count} collectors", count=len(have))
    )
    return expect(answers and not failures, observed=observed, expected=expected)
