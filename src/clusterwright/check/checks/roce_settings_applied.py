"""RoCE is marked and kept whole as the file says."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.roce_settings import RocePort, roce_settings
from clusterwright.check.verdict import Verdict
from clusterwright.config.rdma import Roce
from clusterwright.i18n import _


def _sets_roce(spec: HostSpec) -> bool:
    networks = spec.cluster.networks.named()
    return spec.cluster.rdma is not None and any(
        networks[name].kind == "roce" for name in spec.host.addresses
    )


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's links have no priorities") if spec.cluster.lab else ""


@check(
    roce_settings,
    when=_sets_roce,
    unless=_in_lab,
    fix="`journalctl -u clusterwright-roce` names what the adapter refused; a switch that dictates DCBX undoes it",
)
def roce_settings_applied(spec: HostSpec, have: tuple[RocePort, ...]) -> Iterator[Verdict]:
    """Every RoCE port pauses the one priority of rdma.roce, knows it by its DSCP, and answers marks of switches.

    The switches have to say the same, which no host can see; packets that they drop are counted by link_errors.
    """
    if spec.cluster.rdma is None:
        return
    networks = spec.cluster.networks.named()
    roce = spec.cluster.rdma.roce
    expected = _(
        "priority {priority} for DSCP {dscp}, paused{ending} (rdma.roce)",
        priority=roce.priority,
        dscp=roce.dscp,
        ending=", ECN" if roce.ecn else "",
    )
    ports = [port for port in have if port.network in networks and networks[port.network].kind == "roce"]
    if not ports:
        yield unknown(
            _("no RoCE port in /etc/clusterwright/rdma-ports"), expected=expected, fix=_("wright apply")
        )
    for port in ports:
        if port.paused is None:
            yield unknown(
                _(
                    "{port}: `dcb pfc show dev {interface}` says nothing",
                    port=port.name,
                    interface=port.interface,
                ),
                expected=expected,
            )
            continue
        wrong = _wrong(port, roce)
        yield expect(
            not wrong,
            observed=f"{port.name}: {'; '.join(wrong) or 'as wanted'}",
            expected=expected,
            part=port.network,
        )


def _wrong(port: RocePort, roce: Roce) -> list[str]:
    """What differs, of what the driver shows."""
    differences = []
    paused, priorities = port.paused or (), port.priorities or {}
    if paused != (roce.priority,):
        which = ", ".join(map(str, paused)) or "none"
        differences.append(_("paused priorities: {which}", which=which))
    if priorities.get(roce.dscp) != roce.priority:
        differences.append(
            _(
                "DSCP {dscp} is priority {priorities}",
                dscp=roce.dscp,
                priorities=priorities.get(roce.dscp, "of its VLAN tag"),
            )
        )
    if port.ecn is not None and (roce.priority in port.ecn) != roce.ecn:
        differences.append(
            _(
                "ECN of priority {priority} is {ending}",
                priority=roce.priority,
                ending="off" if roce.ecn else "on",
            )
        )
    if roce.ecn and port.cnp_dscp not in (None, roce.cnp_dscp):
        differences.append(
            _(
                "notifications have DSCP {cnp_dscp}, not {cnp_dscp2}",
                cnp_dscp=port.cnp_dscp,
                cnp_dscp2=roce.cnp_dscp,
            )
        )
    if port.tos is not None and port.tos >> 2 != roce.dscp:
        differences.append(_("connections are marked {tos}, not DSCP {dscp}", tos=port.tos, dscp=roce.dscp))
    return differences
