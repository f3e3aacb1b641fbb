"""A GPU of a host without jobs is reset by its driver."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.act.hands import PLACE, Hands, Order, failed

COST = "drain"
UNDO = ""
# The mark is made before the reset, so that it is done once; what was logged of the GPU before is over after it.
_RESET = """mkdir {mark} 2>/dev/null || exit 0
timeout 120 nvidia-smi --gpu-reset{which}; code=$?
if [ "$code" = 0 ]; then
  nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader{which} |
    while read -r place; do logger -t clusterwright "mended $place"; done
fi
echo "$code" >{mark}/code
exit "$code"
"""
_LOOK = "if [ -s {mark}/code ]; then cat {mark}/code; elif [ -d {mark} ]; then echo begun; else echo none; fi"


def before(order: Order, hands: Hands) -> dict[str, str] | None:
    """Nothing need be kept; None where a job is there."""
    return {} if hands.is_empty(order.intent.host) else None


def act(order: Order, _given: Mapping[str, str], hands: Hands) -> str:
    """The GPU that the finding names, or all of the host."""
    number = order.intent.unit.removeprefix("gpu").strip()
    which = f" -i {number}" if number.isdigit() else ""
    script = _RESET.format(mark=f"{PLACE}/{order.id}", which=which)
    return failed(hands.on(order.intent.host, script, timeout_s=150))


def happened(order: Order, _given: Mapping[str, str], hands: Hands) -> bool | None:
    """Its mark is there, with how the driver ended."""
    done = hands.ask(order.intent.host, _LOOK.format(mark=f"{PLACE}/{order.id}"))
    word = done.out.strip()
    return {"none": False, "0": True}.get(word) if done.ok else None
