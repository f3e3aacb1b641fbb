"""P2: one supply of 2200 W for a node of 4 x A100-40G."""

from __future__ import annotations

from clusterwright.catalog import gpu
from clusterwright.plan.power import Node, node_power, supply
from clusterwright.plan.sizing.claims.claim import Checked, Verdict

RATING_W = 2200.0


def psu() -> Checked:
    """It holds cards of 250 W; modules of 400 W it does not."""
    cards, modules = _node("a100-pcie-40gb"), _node("a100-sxm-40gb")
    of_cards, of_modules = (supply(each, RATING_W) for each in (cards, modules))
    both = of_cards.holds, of_modules.holds
    verdict = Verdict.AGREE if all(both) else Verdict.PARTLY if any(both) else Verdict.DISAGREE
    return Checked(
        "psu-2200", "P2", "A supply of 2200 W for 4 A100-40G, an EPYC 7543 and 256 GB",
        RATING_W, node_power(cards).inside_w, "W",
        "the sum of the parts under load, with PCIe cards of 250 W; two supplies of which one may fail",
        verdict,
        f"With PCIe cards it {of_cards.reason}. With SXM modules of 400 W it {of_modules.reason}.",
    )  # fmt: skip


def _node(name: str) -> Node:
    """The guides' node: one EPYC 7543 (225 W, AMD's data sheet), 8 DIMMs of 32 GB, two drives, one adapter."""
    return Node(
        4, gpu(name).power_w, cpus=1, cpu_w=225.0, dimms=8, disks=2, nics=1, nvswitch=False, height_u=2
    )
