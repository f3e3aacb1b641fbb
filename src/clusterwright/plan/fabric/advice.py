"""Which network a training needs: InfiniBand, RoCE or Ethernet, by the time that it loses on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.fabric.expected import as_kind
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.run import Layout, Machine, Network, Run, Training

Planner = Callable[
    ["Training", "Machine"], "Layout | None"
]  # the best layout on a machine; None: keep the run's

# The network is 10% to 25% of a cluster's price (price catalog); a faster kind of it, a third more expensive, costs
# a twentieth of the cluster: it pays off if steps get shorter by more than that.
WORTH = 0.05
UNLIMITED_BYTES_PER_S = 1e15
GBIT_BYTES = 125e6


@dataclass(frozen=True, slots=True)
class Choice:
    """One network between the nodes, the layout and step time of the training on it, and the time lost."""

    name: str
    network: Network
    layout: Layout
    step_s: float
    waiting: float  # share of a step that an unlimited network would save
    slower: float  # excess of the step time over that on the fastest choice, as a share


@dataclass(frozen=True, slots=True)
class Advice:
    """The networks compared, cheapest first, and the cheapest that is fast enough."""

    choices: tuple[Choice, ...]
    enough: Choice
    verdict: str  # one sentence, with figures

    def choice(self, name: str) -> Choice:
        """Return the network of the advice with this name, and its step time.

        Raises:
            StopIteration: no choice has it.
        """
        return next(choice for choice in self.choices if choice.name == name)


def usual_choices(machine: Machine) -> dict[str, Network]:
    """Return networks to compare, cheapest first: a slow port, a fast port, all ports as Ethernet, RoCE, InfiniBand."""
    network = machine.network
    slow = replace(network, nics=1, nic_bytes_per_s=25 * GBIT_BYTES)
    return {
        "Ethernet 1x25G": as_kind(slow, "ethernet"),
        "RoCE 1x100G": as_kind(replace(slow, nic_bytes_per_s=100 * GBIT_BYTES), "roce"),
        "Ethernet": as_kind(network, "ethernet"),
        "RoCE": as_kind(network, "roce"),
        "InfiniBand": as_kind(network, "infiniband"),
    }


def advise(
    run: Run, choices: Mapping[str, Network] | None = None, worth: float = WORTH, plan: Planner | None = None
) -> Advice:
    """Compare the step times of a training on each network, and choose the cheapest that is fast enough.

    Args:
        run: the training, its layout and machine.
        choices: network by name, cheapest first; default: `usual_choices`.
        worth: the smallest share of a step that justifies the next more expensive network.
        plan: finds a layout for each network, as slow ones need another; without it the run's layout is used.
    """
    networks = choices or usual_choices(run.machine)
    runs = {name: on_network(run, network, plan) for name, network in networks.items()}
    times = {name: float(iteration(candidate).total) for name, candidate in runs.items()}
    free, fastest = min(unlimited_s(candidate) for candidate in runs.values()), min(times.values())
    results = tuple(
        Choice(name, networks[name], runs[name].layout, time, max(0.0, 1 - free / time), time / fastest - 1)
        for name, time in times.items()
    )
    enough = next(choice for choice in results if choice.slower <= worth)
    return Advice(results, enough, _verdict(results, enough, worth))


def on_network(run: Run, network: Network, plan: Planner | None = None) -> Run:
    """Return the run with this network between its nodes, also with the layout from `plan` if that makes a step faster.

    The old layout stays if `plan` is None or returns None.
    """
    moved = replace(run, machine=replace(run.machine, network=network))
    layout = plan(moved.training, moved.machine) if plan else None
    if layout is None:
        return moved
    replanned = replace(moved, layout=layout)
    return min(moved, replanned, key=lambda candidate: float(iteration(candidate).total))


def step_on(run: Run, network: Network) -> float:
    """Predict the seconds of an iteration with this network between the nodes and an unchanged layout."""
    return float(iteration(on_network(run, network)).total)


def unlimited_s(run: Run) -> float:
    """Predict the seconds of an iteration with an infinitely fast network between the nodes."""
    network = run.machine.network
    free = replace(network, nic_bytes_per_s=UNLIMITED_BYTES_PER_S, latency_s=0.0, oversubscription=1.0)
    return step_on(run, free)


def _verdict(choices: tuple[Choice, ...], enough: Choice, worth: float) -> str:
    cheaper = choices[: choices.index(enough)]
    reasons = [
        _(
            "{network} is fast enough: a step loses {share:.0%} of its time to this network",
            network=enough.name,
            share=enough.waiting,
        )
    ]
    if cheaper:
        last = cheaper[-1]
        reasons.append(
            _(
                "a step on {network}, the next cheaper, takes {share:.0%} longer than on the fastest",
                network=last.name,
                share=last.slower,
            )
        )
    best = min(choices, key=lambda choice: choice.step_s)
    if best.name != enough.name:
        saved = 1 - best.step_s / enough.step_s
        reasons.append(
            _(
                "{network} would save {saved:.1%}, less than the {cost:.0%} that it costs",
                network=best.name,
                saved=saved,
                cost=worth,
            )
        )
    return "; ".join(reasons)
