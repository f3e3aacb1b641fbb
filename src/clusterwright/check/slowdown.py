"""Why a GPU lowers its clocks, by the bits of NVML's clocks event reasons that are no business of the program's.

Idle, an application's own setting and the power cap of the board are not among them (Azure/azurehpc-health-checks
takes those for fine, too).
"""

from __future__ import annotations

from clusterwright.i18n import N_

REASONS = {
    0x8: N_("hardware slowdown"),
    0x20: N_("heat, by the driver"),
    0x40: N_("heat, by the hardware"),
    0x80: N_("power brake"),
}
HEAT = 0x20 | 0x40
POWER_BRAKE = 0x80


def reasons(bits: int) -> tuple[str, ...]:
    """In words; none where nothing slows it."""
    return tuple(reason for bit, reason in REASONS.items() if bits & bit)
