"""Run collectives on several groups of hosts at the same time: number the ranks and read each group's result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from clusterwright.check.bench.culprits.bisect import Group
from clusterwright.check.bench.parsers.sweep import Sweep, sweep
from clusterwright.check.bench.site import BenchSite, port
from clusterwright.check.bench.stage import StageAnswer, StagedPart, malformed
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS

# One rank imports torch and joins the others: 3 s on an idle host, 120 s measured on one with 25 processes a core.
START_S = 240.0


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The sweep of collectives that every group runs."""

    backend: str
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    iterations: int
    seconds: float  # time limit of the sweep itself
    environment: Mapping[str, str] = field(default_factory=dict)  # added to the environment of every rank

    @property
    def ranks(self) -> Ranks:
        """Return the sweep that all ranks run, with arguments, time limit and environment; equal for all groups."""
        arguments = {"kinds": self.kinds, "sizes": self.sizes, "iterations": self.iterations}
        return Ranks("sweep", self.backend, arguments, self.seconds, self.environment)


@dataclass(frozen=True, slots=True)
class Ranks:
    """A program that all ranks of a group run, its arguments, and its time limit after the start."""

    program: str
    backend: str
    arguments: Mapping[str, object]
    seconds: float
    environment: Mapping[str, str]


@dataclass(slots=True)
class Groups:
    """Runs groups of hosts on the stage; each order uses its own ports."""

    site: BenchSite
    orders: int = 0

    def run(self, groups: Sequence[Group], plan: GroupPlan) -> dict[Group, Sweep | None]:
        """Run the plan's collective on each group of hosts; return its results by group, None for a group that failed.

        A group that lost hosts runs once more without them.
        """
        alive_groups = {group: self._alive(group) for group in groups}
        results = self._sweep_groups([group for group in alive_groups.values() if len(group) > 1], plan)
        shrunk = {group: self._alive(group) for group in alive_groups.values() if self._alive(group) != group}
        retries = (
            self._sweep_groups([group for group in shrunk.values() if len(group) > 1], plan) if shrunk else {}
        )
        last = {
            group: retries.get(shrunk[group]) if group in shrunk else results.get(group)
            for group in alive_groups.values()
        }
        return {group: last[alive] for group, alive in alive_groups.items()}

    def _alive(self, group: Group) -> Group:
        return tuple(host for host in group if host in self.site.stage.hosts)

    def _sweep_groups(self, groups: Sequence[Group], plan: GroupPlan) -> dict[Group, Sweep | None]:
        answers = self.answers(groups, plan.ranks)
        return {
            group: self._swept(group[0], group_answers[0].out) if group_answers else None
            for group, group_answers in answers.items()
        }

    def _swept(self, host: str, out: str) -> Sweep | None:
        try:
            return sweep(out)
        except DATA_ERRORS as error:
            self.site.log(f"{host}: {malformed(error)}")
            return None

    def answers(self, groups: Sequence[Group], ranks: Ranks) -> dict[Group, tuple[StageAnswer, ...]]:
        """Run the program on all groups at the same time; return the answers by group, empty for a failed group."""
        if not groups:
            return {}
        self.orders += 1
        parts = {
            host: part
            for index, group in enumerate(groups)
            for host, part in self._parts(group, index, ranks)
        }
        answers = self.site.stage.do(parts)
        return {group: self._complete_answers(group, answers) for group in groups}

    def _parts(self, group: Group, index: int, ranks: Ranks) -> Iterable[tuple[str, StagedPart]]:
        first_rank = 0
        counts = {host: ranks_of(self.site, host, ranks.backend) for host in group}
        for host, rank_count in counts.items():
            arguments = {
                "program": ranks.program,
                "backend": ranks.backend,
                **ranks.arguments,
                "address": self.site.address(group[0]),
                "port": port(self.orders) + index % 2,
                "interface": self.site.facts[host]["interfaces"].get(self.site.address(host), ""),
                "ranks": sum(counts.values()),
                "first_rank": first_rank,
                "ranks_here": rank_count,
                "environment": dict(ranks.environment),
            }
            yield (
                host,
                StagedPart(
                    "collectives", arguments, START_S + ranks.seconds, self.site.cluster.software.python
                ),
            )
            first_rank += rank_count

    def _complete_answers(self, group: Group, answers: dict[str, StageAnswer]) -> tuple[StageAnswer, ...]:
        wrong = {host: answers[host].reason for host in group if host in answers and answers[host].reason}
        if wrong or any(host not in answers for host in group):
            for host, reason in list(wrong.items())[:1]:
                self.site.log(f"{host}: {reason}")
            return ()
        return tuple(answers[host] for host in group)


def ranks_of(site: BenchSite, host: str, backend: str) -> int:
    """Return the number of ranks on a host: one per GPU with NCCL, else one."""
    gpus = site.host(host).group.gpus
    return gpus.count if backend == "nccl" and gpus else 1
