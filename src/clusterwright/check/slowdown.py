"""NVML clock event reasons that are faults of the hardware or its cooling.

Idle, application clocks and the software power cap are normal and left out, as in Azure/azurehpc-health-checks.
"""

from __future__ import annotations

from clusterwright.i18n import N_, _

REASONS = {
    0x8: N_("hardware slowdown"),
    0x20: N_("software thermal slowdown"),
    0x40: N_("hardware thermal slowdown"),
    0x80: N_("power brake slowdown"),
}
HEAT = 0x20 | 0x40
POWER_BRAKE = 0x80


def reasons(bits: int) -> tuple[str, ...]:
    """Return the names of the reasons in a bit mask; empty where none is set."""
    return tuple(_(reason) for bit, reason in REASONS.items() if bits & bit)
