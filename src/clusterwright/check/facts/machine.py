"""Model, BIOS, clock source and NUMA nodes of the host."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_DMI, _NODES = "/sys/class/dmi/id", "/sys/devices/system/node"
_COMMAND = (
    f"cd {_DMI} 2>/dev/null && grep -s . sys_vendor product_name bios_version bios_date;"
    "echo clocksource:$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null);"
    f"for node in {_NODES}/node[0-9]*; do"
    ' [ -n "$(cat $node/cpulist 2>/dev/null)" ] && echo node:$(cat $node/cpulist); done; echo END'
)


@dataclass(frozen=True, slots=True)
class HostMachine:
    """Vendor and model, BIOS version, the kernel's clock source, and the number of NUMA nodes with CPUs."""

    model: str
    bios: str
    clocksource: str
    numa_nodes: int


@fact("sh", "-c", _COMMAND)
def machine(out: str) -> HostMachine:
    """Model, BIOS, clock source and NUMA nodes from /sys; in a virtual machine those of the hypervisor."""
    *lines, last = out.splitlines()
    if last != "END":
        raise ValueError(last)
    rows = [line.partition(":") for line in lines]
    values = {key: value.strip() for key, _, value in rows}
    model = " ".join(values[key] for key in ("sys_vendor", "product_name") if key in values)
    bios = " of ".join(values[key] for key in ("bios_version", "bios_date") if key in values)
    return HostMachine(model, bios, values["clocksource"], sum(key == "node" for key, _, _ in rows))
