"""When InfiniBand pays, and when RoCE or plain Ethernet is enough: by what a training loses on each."""

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

# The network is 10% to 25% of a cluster's price (catalogue of costs); a faster sort of it, dearer by a third, is worth
# a twentieth of the cluster: it pays where steps get shorter by more than that.
WORTH = 0.05
UNLIMITED_BYTES_PER_S = 1e15
GBIT_BYTES = 125e6


@dataclass(frozen=True, slots=True)
class Choice:
    """One network between the nodes, and what a training loses on it."""

    name: str
    network: Network
    layout: Layout
    step_s: float
    waiting: float  # share of a step that a network without limits would save
    slower: float  # than on the fastest of the choices, as a share of its step


@dataclass(frozen=True, slots=True)
class Advice:
    """The cheapest choice that loses less than it saves; `choices` from the cheapest up."""

    choices: tuple[Choice, ...]
    enough: Choice
    verdict: str  # one sentence, with figures

    def choice(self, name: str) -> Choice:
        """The choice of that name."""
        return next(choice for choice in self.choices if choice.name == name)


def usual_choices(machine: Machine) -> dict[str, Network]:
    """From the cheapest up: one slow port, one fast port, and all ports as Ethernet, RoCE and InfiniBand."""
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
    run: Run,
    choices: Mapping[str, Network] | None = None,
    worth: float = WORTH,
    plan: Planner | None = None,
) -> Advice:
    """Compare step times of a training on each network.

    `choices`: name to network, from the cheapest up; `worth`: the gain that pays for the next dearer one; `plan`: cuts
    the model anew for each network, since a slow one wants another cut; without it the run's layout is kept.
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
    """The same training with this network between the nodes, cut anew where that is faster."""
    moved = replace(run, machine=replace(run.machine, network=network))
    layout = plan(moved.training, moved.machine) if plan else None
    if layout is None:
        return moved
    replanned = replace(moved, layout=layout)
    return min(moved, replanned, key=lambda candidate: float(iteration(candidate).total))


def step_on(run: Run, network: Network) -> float:
    """Seconds of an iteration with this network between the nodes, cut as it is."""
    return float(iteration(on_network(run, network)).total)


def unlimited_s(run: Run) -> float:
    """Seconds of an iteration if the network between the nodes were never waited for."""
    network = run.machine.network
    free = replace(network, nic_bytes_per_s=UNLIMITED_BYTES_PER_S, latency_s=0.0, oversubscription=1.0)
    return step_on(run, free)


def _verdict(choices: tuple[Choice, ...], enough: Choice, worth: float) -> str:
    cheaper = choices[: choices.index(enough)]
    reason = _(
        "{enough} is enough: {waiting:.0%} of a step is lost to it",
        enough=enough.name,
        waiting=enough.waiting,
    )
    if cheaper:
        last = cheaper[-1]
        reason += f"; {last.name}, the next cheaper, takes {last.slower:.0%} longer than the fastest"
    best = min(choices, key=lambda choice: choice.step_s)
    if best.name != enough.name:
        reason += f"; {best.name} would save {1 - best.step_s / enough.step_s:.1%}, less than the {worth:.0%} it costs"
    return reason
