"""PFC, DSCP and ECN of RoCE ports are as declared in rdma.roce."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, unknown, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.roce_settings import RocePort, roce_settings
from clusterwright.check.verdict import Verdict
from clusterwright.config.networks import Roce
from clusterwright.i18n import _


def _sets_roce(spec: HostSpec) -> bool:
    networks = spec.cluster.networks.named()
    return spec.cluster.rdma is not None and any(
        networks[name].kind == "roce" for name in spec.host.addresses
    )


def _in_lab(spec: HostSpec) -> str:
    return _("links of a lab have no priorities") if spec.cluster.lab else ""


@check(
    roce_settings,
    when=_sets_roce,
    unless=unmanaged("roce", otherwise=_in_lab),
    fix="read `journalctl -u clusterwright-roce` for settings that the adapter rejected; turn DCBX off on the switch "
    "if it overrides them",
)
def roce_settings_applied(spec: HostSpec, have: tuple[RocePort, ...]) -> Iterator[Verdict]:
    """Every RoCE port has PFC on the priority of rdma.roce only, maps its DSCP to it, and has ECN as declared.

    Switches need the same settings, which a host cannot read; link_errors counts the packets that they drop.
    """
    if spec.cluster.rdma is None:
        return
    networks = spec.cluster.networks.named()
    roce = spec.cluster.rdma.roce
    text = (
        _("PFC and ECN on priority {priority}, DSCP {dscp} (rdma.roce)")
        if roce.ecn
        else _("PFC on priority {priority}, no ECN, DSCP {dscp} (rdma.roce)")
    )
    expected = text.format(priority=roce.priority, dscp=roce.dscp)
    ports = [port for port in have if port.network in networks and networks[port.network].kind == "roce"]
    if not ports:
        yield unknown(
            _("/etc/clusterwright/rdma-ports lists no RoCE port"),
            expected=expected,
            fix=_("run `wright apply`"),
        )
    for port in ports:
        if port.paused is None:
            yield unknown(
                _(
                    "{port}: `dcb pfc show dev {interface}` prints nothing",
                    port=port.name,
                    interface=port.interface,
                ),
                expected=expected,
            )
            continue
        wrong = _wrong(port, roce)
        yield expect(
            not wrong,
            observed=f"{port.name}: {'; '.join(wrong) or _('as declared')}",
            expected=expected,
            part=port.network,
        )


def _wrong(port: RocePort, roce: Roce) -> list[str]:
    """Return a text for each setting of the port that differs from rdma.roce; empty if none does."""
    differences = []
    paused, priorities = port.paused or (), port.priorities or {}
    if paused != (roce.priority,):
        priority_list = ", ".join(map(str, paused)) or _("none")
        differences.append(_("priorities with PFC: {priorities}", priorities=priority_list))
    if priorities.get(roce.dscp) != roce.priority:
        differences.append(
            _("DSCP {dscp} has priority {priority}", dscp=roce.dscp, priority=priorities[roce.dscp])
            if roce.dscp in priorities
            else _(
                "DSCP {dscp} is mapped to no priority: its packets get that of their VLAN tag", dscp=roce.dscp
            )
        )
    if port.ecn is not None and (roce.priority in port.ecn) != roce.ecn:
        differences.append(
            _("ECN is off for priority {priority}", priority=roce.priority)
            if roce.ecn
            else _("ECN is on for priority {priority}", priority=roce.priority)
        )
    if roce.ecn and port.cnp_dscp not in (None, roce.cnp_dscp):
        differences.append(
            _(
                "congestion notifications have DSCP {dscp} instead of {declared}",
                dscp=port.cnp_dscp,
                declared=roce.cnp_dscp,
            )
        )
    if port.tos is not None and port.tos >> 2 != roce.dscp:
        differences.append(
            _("RDMA connections have ToS {tos} instead of that of DSCP {dscp}", tos=port.tos, dscp=roce.dscp)
        )
    return differences
