"""The Clusterwright exporter of the host answers, and all its collectors work."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.exporter import exporter
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _, _n


def _off(spec: HostSpec) -> str:
    return "" if spec.cluster.monitoring.exporter else _("monitoring.exporter is off in the cluster file")


@check(
    exporter,
    unless=unmanaged("exporter", otherwise=_off),
    fix="read `journalctl -u clusterwright-exporter` on the host for the error of the collector",
)
def exporter_answers(_spec: HostSpec, have: dict[str, bool] | str) -> Verdict:
    """The Clusterwright exporter answers on the management address with TLS, and each of its collectors is up."""
    expected = _("clusterwright-exporter on port 9105 with all collectors up (monitoring.exporter)")
    answers = isinstance(have, dict)
    failures = ", ".join(name for name, up in have.items() if not up) if isinstance(have, dict) else str(have)
    observed = (
        _("collectors down: {collectors}", collectors=failures)
        if failures and answers
        else failures or _n("{count} collector up", "{count} collectors up", len(have))
    )
    return expect(answers and not failures, observed=observed, expected=expected)
