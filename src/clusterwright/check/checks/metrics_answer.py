"""The node_exporter of the host answers."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.node_exporter import node_exporter
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _off(spec: HostSpec) -> str:
    return (
        ""
        if spec.cluster.monitoring.node_exporter
        else _("monitoring.node_exporter is off in the cluster file")
    )


@check(
    node_exporter,
    unless=unmanaged("node_exporter", otherwise=_off),
    fix="run `systemctl status prometheus-node-exporter`; it must listen on the management address",
)
def metrics_answer(_spec: HostSpec, have: str) -> Verdict:
    """The host's node_exporter answers on the management address and reports its version."""
    expected = _("node_exporter on port 9100 (monitoring.node_exporter)")
    return expect(have.startswith("node_exporter "), observed=have, expected=expected)
