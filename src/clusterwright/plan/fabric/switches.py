"""Switches from a model name of the catalog, or from a shape such as 64x400G."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog import parts as catalog
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.fabric.parts import FabricSwitch

if TYPE_CHECKING:
    from clusterwright.catalog import records
    from clusterwright.catalog.user_catalog import UserCatalog

GBIT = 10**9
_SHAPE = re.compile(r"([0-9]{1,5})x([0-9]{1,5}(?:\.[0-9]{1,2})?)(G|Gbit/s)")


def switch_of(
    text: str, protocol: str = "infiniband", user_catalog: UserCatalog | None = None
) -> FabricSwitch:
    """Parse a model name or a shape such as 64x400G; `protocol` is that of a shape or an Ethernet switch.

    Raises:
        WrightError: unknown-part, with the most similar name.
    """
    shape = _SHAPE.fullmatch(text.strip())
    if shape:
        return FabricSwitch(int(shape[1]), round(float(shape[2]) * GBIT), protocol=protocol)
    return from_catalog(catalog.switch(text, user_catalog), protocol)


def require_shape(text: str) -> None:
    """Refuse a text that begins as a shape, such as 64x400Gb, and is none; any other may be a name of the catalog.

    Raises:
        WrightError: unknown-part.
    """
    begins = re.match(r"\s*([0-9]+)\s*[xX*]\s*([0-9.]+)", text)
    if not begins or _SHAPE.fullmatch(text.strip()):
        return
    message = _("`{text}` is not a number of ports and their rate", text=text)
    fix = _("write it as {shape}", shape=f"{begins[1]}x{begins[2]}G")
    raise WrightError.from_code("unknown-part", message, fix, exit_code=EXIT_USAGE)


def from_catalog(row: records.Switch, protocol: str = "roce") -> FabricSwitch:
    """Convert a switch of the catalog; an Ethernet switch runs RoCE unless `protocol` is `ethernet`.

    Other switches ignore `protocol`.
    """
    used = row.protocol
    if used == "ethernet":
        used = protocol if protocol in {"ethernet", "roce"} else "roce"
    return FabricSwitch(row.ports, round(row.port_bits_per_s), row.name, used, row.power_w, row.latency_s)


def usual_switch(
    port_bits_per_s: float, protocol: str, user_catalog: UserCatalog | None = None
) -> FabricSwitch:
    """Return the first switch with ports of this rate and protocol, the user's before the catalog's.

    Every protocol but InfiniBand counts as Ethernet. Without one: a generic switch with 64 ports.
    """
    link_protocol = "infiniband" if protocol == "infiniband" else "ethernet"
    rows = (*(user_catalog.switches.values() if user_catalog else ()), *catalog.switches().values())
    fitting = [
        row for row in rows if row.port_bits_per_s == port_bits_per_s and row.protocol == link_protocol
    ]
    if fitting:
        return from_catalog(fitting[0], protocol)
    return FabricSwitch(64, round(port_bits_per_s), protocol=protocol)


def for_ports(switch: FabricSwitch, port_bits_per_s: float) -> FabricSwitch:
    """Return the switch with its ports split to the rate of the nodes' ports, if theirs is a whole fraction.

    Raises:
        WrightError: fabric-rate if the rates do not match.
    """
    ratio = switch.port_bits_per_s / port_bits_per_s
    if ratio == 1:
        return switch
    if ratio > 1 and ratio.is_integer():
        split_switch = switch.split(int(ratio))
        return replace(split_switch, name=f"{switch.title}/{int(ratio)}")
    node_gbits, switch_gbits = port_bits_per_s / GBIT, switch.port_bits_per_s / GBIT
    message = _(
        "node ports of {node_gbits:g} Gbit/s do not match ports of {switch_gbits:g} Gbit/s of {switch}",
        node_gbits=node_gbits,
        switch_gbits=switch_gbits,
        switch=switch.title,
    )
    fix = _("give --nic-rate and --switch the same rate, or use a switch whose ports can be split to it")
    raise WrightError.from_code("fabric-rate", message, fix, exit_code=EXIT_USAGE)
