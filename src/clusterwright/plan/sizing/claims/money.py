"""P6: cloud against an own cluster, and how busy such a one is."""

from __future__ import annotations

from clusterwright.catalog import gpu
from clusterwright.plan.cost import owned
from clusterwright.plan.cost.break_even import break_even, saving_by_renting
from clusterwright.plan.cost.figures import likely
from clusterwright.plan.cost.inputs import gather
from clusterwright.plan.cost.rented import Fleet, Rent, per_gpu_hour
from clusterwright.plan.sizing.claims.claim import Checked, Verdict
from clusterwright.plan.sizing.claims.nodes import A100

NODES, HOURS, SAVED = 4, 5000.0, 0.40
HALF, BUSY = 0.50, 0.90
PHILLY = 0.52  # mean use of GPUs that jobs held (Jeon et al., USENIX ATC 2019, table 3)


def cloud() -> Checked:
    """Under 5000 hours a year renting saves 40% and more: it depends on the contract."""
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
        "cloud-under-5000-hours", "P6", "Below 5000 training hours a year the cloud saves 40% and more",
        100 * SAVED, 100 * demand, "%",
        f"{NODES} servers of 8 A100-80G at {HOURS:,.0f} h a year, on demand; every price has its range and day",
        verdict,
        f"On demand it saves 40% below {forty:,.0f} h a year and breaks even at {even:,.0f} h; reserved for a year it "
        f"saves {reserved:.0%} at {HOURS:,.0f} h. `wright plan cost` shows what drives it.",
    )  # fmt: skip


def half_idle() -> Checked:
    """Own clusters are often below 50% use: a matter of surveys, and of what it costs."""
    gathered = gather(gpu(A100), NODES)
    figures, gpus = likely(gathered.values), NODES * gathered.server.gpus
    idle, busy = (owned.per_gpu_hour(figures, NODES, gpus, share) for share in (HALF, BUSY))
    return Checked(
        "own-clusters-half-idle", "P6", "Self-built clusters are often under 50% utilised",
        100 * HALF, 100 * PHILLY, "%",
        "the mean of one large shared cluster that was published; no model says how people use theirs",
        Verdict.CANNOT_TELL,
        f"At {HALF:.0%} a GPU-hour of 4 servers of 8 A100 costs {idle:.2f} {gathered.currency}, at {BUSY:.0%} "
        f"{busy:.2f}: {idle / busy - 1:.0%} more. Microsoft's Philly used {PHILLY:.0%} of the GPUs that its jobs held.",
    )  # fmt: skip
