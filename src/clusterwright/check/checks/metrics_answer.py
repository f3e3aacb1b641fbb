"""The host publishes its metrics."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.node_exporter import node_exporter
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _off(spec: HostSpec) -> str:
    return (
        ""
        if spec.cluster.monitoring.node_exporter
        else _("the cluster file has it off (monitoring.node_exporter)")
    )


@check(
    node_exporter,
    unless=_off,
    fix="systemctl status prometheus-node-exporter; it has to listen on the management address",
)
def metrics_answer(_spec: HostSpec, have: str) -> Verdict:
    """The host's node_exporter answers on the management address with its own version."""
    expected = _("node_exporter on port 9100 (monitoring.node_exporter)")
    return expect(have.startswith("node_exporter "), observed=have, expected=expected)
