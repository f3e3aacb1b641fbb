"""Claims P2, P6, P7 and W3, and the reference hosts: power supplies, headroom, utilization, cloud or owned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog import gpu
from clusterwright.i18n import _
from clusterwright.plan.cost import owned
from clusterwright.plan.cost.break_even import break_even, saving_by_renting
from clusterwright.plan.cost.figures import likely
from clusterwright.plan.cost.inputs import gather
from clusterwright.plan.cost.rented import Fleet, Rent, per_gpu_hour
from clusterwright.plan.machines import Wiring, machine
from clusterwright.plan.power import Node, node_power, supply
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged
from clusterwright.plan.sizing.teams import erlang_c, shared

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine


A100 = "a100-sxm-80gb"
GBIT = 10**9


def a100_hdr100(nodes: int) -> Machine:
    """Return nodes of 8 x A100-80G with one HDR100 port each (requirement P2)."""
    return machine(gpu(A100), 8 * nodes, Wiring(8, 8, "infiniband", 1, 100 * GBIT))


def a100_hdr(nodes: int, ports: int = 8, oversubscription: float = 1.0) -> Machine:
    """Return nodes of 8 x A100-80G with `ports` HDR ports each; default: one for each GPU, as in DGX A100."""
    wiring = Wiring(8, 8, "infiniband", ports, 200 * GBIT, oversubscription)
    return machine(gpu(A100), 8 * nodes, wiring)


def a100_25gbe(nodes: int) -> Machine:
    """Return nodes of 4 x A100-40G with two ports of 25 GbE (requirement P2)."""
    return machine(gpu("a100-pcie-40gb"), 4 * nodes, Wiring(4, 4, "ethernet", 2, 25 * GBIT))


def h100_ndr(nodes: int) -> Machine:
    """Return nodes of 8 x H100 with eight NDR ports, as in DGX H100."""
    return machine(gpu("h100-sxm-80gb"), 8 * nodes, Wiring(8, 8, "infiniband", 8, 400 * GBIT))


def over(base: Machine, kind: str, nics: float, bits_per_s: float) -> Machine:
    """Return the same nodes with another network: its kind, ports per node and bit/s per port."""
    network = replace(base.network, kind=kind, nics=nics, nic_bytes_per_s=bits_per_s / 8)
    return replace(base, network=network)


RATING_W = 2200.0


def psu() -> Checked:
    """Check the claim on a power supply of 2200 W for 4 GPUs: with cards of 250 W, and with modules of 400 W.

    It agrees if the supply is sufficient for both, partly for one.
    """
    cards, modules = _node("a100-pcie-40gb"), _node("a100-sxm-40gb")
    of_cards, of_modules = (supply(node, RATING_W) for node in (cards, modules))
    sufficient = of_cards.sufficient, of_modules.sufficient
    verdict = Verdict.AGREE if all(sufficient) else Verdict.PARTLY if any(sufficient) else Verdict.DISAGREE
    return Checked(
        "psu-2200",
        "P2",
        _("A power supply of 2200 W for 4 A100-40G, an EPYC 7543 and 256 GB"),
        RATING_W,
        node_power(cards).inside_w,
        "W",
        _("the sum of the parts under load, with PCIe cards of 250 W; two supplies of which one may fail"),
        verdict,
        _(
            "For a node with 4 PCIe cards of 250 W, {cards}. For a node with 4 SXM modules of 400 W, {modules}.",
            cards=of_cards.reason,
            modules=of_modules.reason,
        ),
    )


def _node(name: str) -> Node:
    """Return the guides' node: one EPYC 7543 (225 W, AMD's data sheet), 8 DIMMs of 32 GB, two drives, one adapter."""
    return Node(
        4, gpu(name).power_w, cpus=1, cpu_w=225.0, dimms=8, disks=2, nics=1, nvswitch=False, height_u=2
    )


TEAMS, JOB_NODES, HEADROOM = 5, 4, 0.30
INITIAL_USE, FINAL_USE, FASTER = 0.60, 0.92, 0.40


def headroom() -> Checked:
    """Check the claim that several teams need 30% headroom: it agrees if waits are shorter than trainings there.

    The headroom computed as necessary must also be within 10 points; else the claim is partly true.
    """
    free = shared(JOB_NODES, 12.0, TEAMS, HEADROOM)
    tight = [shared(JOB_NODES, 12.0, TEAMS, share) for share in (0.1, 0.2)]
    waits = ", ".join(_wait(result.headroom, result.wait_hours) for result in (*tight, free))
    # A job should wait for less time than it runs; then the queue of a shared cluster stays short.
    enough = free.wait_hours < free.hours
    return Checked(
        "headroom-30",
        "P7",
        _("Leave 30% of the cluster free for several teams"),
        30.0,
        100 * _least(),
        "%",
        _(
            "{teams} teams, each always with one training on {job_nodes} servers for 12 h",
            teams=TEAMS,
            job_nodes=JOB_NODES,
        ),
        Verdict.AGREE if enough and abs(_least() - HEADROOM) <= 0.1 else Verdict.PARTLY,
        _(
            "The mean wait of a training depends on the free share of the cluster: {waits}. With {teams} teams of one "
            "training each, {least:.0%} of the cluster must be free for a mean wait shorter than the run time of a "
            "training; with fewer trainings at a time, more must be free, and with many small trainings less.",
            waits=waits,
            teams=TEAMS,
            least=_least(),
        ),
    )


def _wait(headroom: float, hours: float) -> str:
    if hours > 1e6:
        return _("{free:.0%} free: unlimited", free=headroom)
    return _("{free:.0%} free: {hours:.0f} h", free=headroom, hours=hours)


def _least() -> float:
    """Return the least headroom, in steps of 1%, with which a training waits for less time than it runs."""
    shares = (percent / 100 for percent in range(100))
    return next(share for share in shares if shared(JOB_NODES, 12.0, TEAMS, share).wait_hours < 12.0)


def utilization() -> Checked:
    """Check the claim of 40% less time by utilization of 92% instead of 60%."""
    saved = 1 - INITIAL_USE / FINAL_USE
    slots = 16
    waits = erlang_c(slots, slots * FINAL_USE)
    return Checked(
        "utilization-92",
        "W3",
        _("Utilization from 60% to 92% with five groups; large vision models in 40% less time"),
        100 * FASTER,
        100 * saved,
        "%",
        _("the same work on GPUs that are busy 92% of the time instead of 60%"),
        judged(FASTER, saved),
        _(
            "GPUs that are busy 92% instead of 60% of the time do the same work in {saved:.0%} less time. If 92% "
            "of {slots} slots for trainings are busy, {waits:.0%} of the trainings have to wait, on average for "
            "{wait:.0%} of the run time of a training.",
            saved=saved,
            slots=slots,
            waits=waits,
            wait=1 / (slots * (1 - FINAL_USE)) * waits,
        ),
    )


NODES, HOURS, SAVED = 4, 5000.0, 0.40
HALF, BUSY = 0.50, 0.90
PHILLY = 0.52  # mean utilization of GPUs allocated to jobs (Jeon et al., USENIX ATC 2019, table 3)


def cloud() -> Checked:
    """Judge the guides' claim that renting saves 40% below 5000 hours per year, by the cost of both.

    It agrees if on-demand prices save that, partly if only reserved ones do, else disagrees.
    """
    gathered = gather(gpu(A100), NODES)
    figures, fleet = likely(gathered.values), Fleet(NODES, NODES * gathered.server.gpus)
    demand, reserved = (
        saving_by_renting(figures, fleet, rent, HOURS) for rent in (Rent.ON_DEMAND, Rent.RESERVED)
    )
    even = break_even(figures, fleet, Rent.ON_DEMAND, HOURS).hours_a_year
    rent = per_gpu_hour(figures, fleet, Rent.ON_DEMAND) * fleet.gpus
    energy = owned.energy_an_hour(figures, NODES)
    forty = (1 - SAVED) * owned.fixed_a_year(figures, NODES) / (rent - (1 - SAVED) * energy)
    verdict = Verdict.AGREE if demand >= SAVED else Verdict.PARTLY if reserved >= SAVED else Verdict.DISAGREE
    return Checked(
        "cloud-under-5000-hours",
        "P6",
        _("Below 5000 training hours a year the cloud saves 40% and more"),
        100 * SAVED,
        100 * demand,
        "%",
        _(
            "{nodes} servers of 8 A100-80G at {hours:,.0f} h per year, on demand; every price has "
            "a range and a date",
            nodes=NODES,
            hours=HOURS,
        ),
        verdict,
        _(
            "Compared with buying, renting on demand saves 40% below {forty:,.0f} h per year and breaks "
            "even at {even:,.0f} h; reserved for a year, renting saves {reserved:.0%} at {hours:,.0f} h. "
            "`wright plan cost` lists the six inputs that change the cost of an owned GPU hour most; `--json` lists "
            "all inputs of owning and renting.",
            forty=forty,
            even=even,
            reserved=reserved,
            hours=HOURS,
        ),
    )


def half_idle() -> Checked:
    """Check the claim that owned clusters are often below 50% utilization, by a survey: always inconclusive.

    It also compares the cost of a GPU hour at that utilization with a higher one.
    """
    gathered = gather(gpu(A100), NODES)
    figures, gpus = likely(gathered.values), NODES * gathered.server.gpus
    idle, busy = (owned.per_gpu_hour(figures, NODES, gpus, share) for share in (HALF, BUSY))
    return Checked(
        "own-clusters-half-idle",
        "P6",
        _("Self-built clusters are often under 50% utilized"),
        100 * HALF,
        100 * PHILLY,
        "%",
        _("the published mean of one large shared cluster; no model predicts how people use theirs"),
        Verdict.INCONCLUSIVE,
        _(
            "A GPU hour of 4 owned servers of 8 A100 costs {low_cost:.2f} {currency} at a utilization of "
            "{low_use:.0%} and {high_cost:.2f} at {high_use:.0%}: {more:.0%} more at the lower utilization. In "
            "Microsoft's cluster Philly, the GPUs that were allocated to jobs were used {philly:.0%} of the time.",
            low_use=HALF,
            low_cost=idle,
            currency=gathered.currency,
            high_use=BUSY,
            high_cost=busy,
            more=idle / busy - 1,
            philly=PHILLY,
        ),
    )
