"""The switch that is meant: a model of the catalog, or ports and their rate, as 64x400G."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog import parts as catalog
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.fabric.parts import Switch

if TYPE_CHECKING:
    from clusterwright.catalog import records
    from clusterwright.catalog.user_catalog import UserCatalog

GBIT = 10**9
_SHAPE = re.compile(r"([0-9]{1,5})x([0-9]{1,5}(?:\.[0-9]{1,2})?)(G|Gbit/s)")


def switch_of(text: str, protocol: str = "infiniband", user_catalog: UserCatalog | None = None) -> Switch:
    """From a name or a shape; `protocol`: what a shape, or an Ethernet switch, is used with.

    Raises:
        WrightError: unknown-part, with the nearest name.
    """
    shape = _SHAPE.fullmatch(text.strip())
    if shape:
        return Switch(int(shape[1]), round(float(shape[2]) * GBIT), protocol=protocol)
    return from_catalog(catalog.switch(text, user_catalog), protocol)


def from_catalog(row: records.Switch, protocol: str = "roce") -> Switch:
    """A switch of the catalog; one of Ethernet carries RoCE, unless plain Ethernet is asked for."""
    used = row.protocol
    if used == "ethernet":
        used = protocol if protocol in {"ethernet", "roce"} else "roce"
    return Switch(row.ports, round(row.port_bits_per_s), row.name, used, row.power_w, row.latency_s)


def usual_switch(port_bits_per_s: float, protocol: str, user_catalog: UserCatalog | None = None) -> Switch:
    """The first of the catalog with ports of that rate; where there is none, 64 of them."""
    link_protocol = "infiniband" if protocol == "infiniband" else "ethernet"
    rows = (*(user_catalog.switches.values() if user_catalog else ()), *catalog.switches().values())
    fitting = [
        row for row in rows if row.port_bits_per_s == port_bits_per_s and row.protocol == link_protocol
    ]
    if fitting:
        return from_catalog(fitting[0], protocol)
    return Switch(64, round(port_bits_per_s), protocol=protocol)


def for_ports(switch: Switch, port_bits_per_s: float) -> Switch:
    """The switch as ports of a node see it: split where its own are a multiple as fast.

    Raises:
        WrightError: fabric-rate, where the rates do not meet.
    """
    ratio = switch.port_bits_per_s / port_bits_per_s
    if ratio == 1:
        return switch
    if ratio > 1 and ratio.is_integer():
        split_switch = switch.split(int(ratio))
        return replace(split_switch, name=f"{switch.title}/{int(ratio)}")
    node_gbits, theirs = port_bits_per_s / GBIT, switch.port_bits_per_s / GBIT
    message = _(
        "ports of {node_gbits:g} Gbit/s do not meet ports of {theirs:g} Gbit/s of {title}",
        node_gbits=node_gbits,
        theirs=theirs,
        title=switch.title,
    )
    fix = "take --nic-rate and --switch with one rate, or a switch whose ports split into it"
    raise WrightError.from_code("fabric-rate", message, fix, exit_code=EXIT_USAGE)
